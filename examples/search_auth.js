// Finds which files mention a word, reads them, and hands back evidence: glob, grep and up to 20 reads in one turn.
//
//   ptc run examples/search_auth.js --workspace . --input query=Policy --input 'files=ptc/**/*.py' --allow grep,glob,read

export default async function run(ctx, inputs) {
  const files = await ctx.glob(inputs.files ?? 'src/**/*.py');
  const hits = await ctx.grep(inputs.query, { glob: '*.py' });
  const evidence = [];
  for (const file of files.slice(0, 20)) {
    const text = await ctx.readFile(file);
    if (text.includes(inputs.query)) evidence.push({ file, preview: text.slice(0, 1200) });
  }
  return { summary: `${evidence.length} files mention ${inputs.query}`, evidence, rawSearch: hits };
}
