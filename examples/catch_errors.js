// A failing call rejects with a ToolError that carries a stable code; the script decides what a failure means.
//
//   ptc run examples/catch_errors.js --workspace . --inputs '{"files": ["README.md", "missing.txt", "../outside"]}'

export default async function run(ctx, inputs) {
  const found = {};
  const failed = {};
  for (const file of inputs.files) {
    try {
      found[file] = (await ctx.readFile(file)).length;
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      failed[file] = error.code;
    }
  }
  return { found, failed };
}
