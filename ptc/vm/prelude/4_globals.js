// What a script finds on the global, beyond ECMAScript; and what it does not find, told in one line.
//
// Nothing here reads a clock, a source of randomness or the outside: time is the host's at the start of the turn,
// randomness comes from a seed that the host chose. Both are recorded, so that a program can be replayed.

let now = 0;
let startedAt = 0;

// When the engine collects an object depends on the machine. A reference that never goes and a registry that never calls
// are within the language, and the same everywhere.
define(globalThis, 'WeakRef', class WeakRef {
  #target;
  constructor(target) {
    if (target === null || (typeof target !== 'object' && typeof target !== 'function')) throw new TypeError('WeakRef needs an object');
    this.#target = target;
  }
  deref() {
    return this.#target;
  }
});
define(globalThis, 'FinalizationRegistry', class FinalizationRegistry {
  constructor(callback) {
    if (typeof callback !== 'function') throw new TypeError('FinalizationRegistry needs a function');
  }
  register() {}
  unregister() {
    return false;
  }
});

const VirtualDate = function Date(...args) {
  if (new.target === undefined) return `${new NativeDate(now)}`;
  return ReflectConstruct(NativeDate, args.length === 0 ? [now] : args, new.target);
};
define(VirtualDate, 'now', () => now);
define(VirtualDate, 'parse', NativeDate.parse);
define(VirtualDate, 'UTC', NativeDate.UTC);
ObjectDefineProperty(VirtualDate, 'prototype', { __proto__: null, value: DatePrototype, writable: false });
ObjectDefineProperty(VirtualDate, 'length', { __proto__: null, value: 7, configurable: true });
define(DatePrototype, 'constructor', VirtualDate);
define(globalThis, 'Date', VirtualDate);
define(globalThis, 'performance', ObjectFreeze({ now: () => now - startedAt, timeOrigin: 0 }));

// sfc32: small, fast, 128 bits of state. Not for secrets; a script has none of its own.
const seed = { __proto__: null, a: 1, b: 2, c: 3, d: 4 };
const random32 = () => {
  const t = (seed.a + seed.b + seed.d) | 0;
  seed.d = (seed.d + 1) | 0;
  seed.a = seed.b ^ (seed.b >>> 9);
  seed.b = (seed.c + (seed.c << 3)) | 0;
  seed.c = (seed.c << 21) | (seed.c >>> 11);
  seed.c = (seed.c + t) | 0;
  return t >>> 0;
};
define(Math, 'random', () => (random32() * 2097152 + (random32() >>> 11)) / 9007199254740992);

const hexDigits = '0123456789abcdef';
const randomUUID = () => {
  const out = list();
  let count = 0;
  for (let i = 0; i < 32; i++) {
    if (i === 8 || i === 12 || i === 16 || i === 20) out[count++] = '-';
    let nibble = random32() & 15;
    if (i === 12) nibble = 4;
    if (i === 16) nibble = 8 | (nibble & 3);
    out[count++] = hexDigits[nibble];
  }
  return join(out, '');
};
const getRandomValues = (array) => {
  const bytes = attempt(bytesOf, array);
  if (bytes === NOT || bytes === null) throw new TypeError('crypto.getRandomValues needs a typed array');
  if (bytes.length > 65536) throw new RangeError('crypto.getRandomValues fills at most 65536 bytes at once');
  for (let i = 0; i < bytes.length; i++) bytes[i] = random32() & 255;
  return array;
};
define(globalThis, 'crypto', ObjectFreeze({ randomUUID, getRandomValues }));

// Code from text: gone, because a program is one file that a person or a policy can read.
const noCode = (what) =>
  function () {
    throw new EvalError(`${what} is not available: write the code in the script itself`);
  };
define(globalThis, 'eval', noCode('eval'));
for (const [what, sample] of [
  ['Function', function () {}],
  ['AsyncFunction', async function () {}],
  ['GeneratorFunction', function* () {}],
  ['AsyncGeneratorFunction', async function* () {}],
]) {
  const prototype = ObjectGetPrototypeOf(sample);
  const stub = noCode(`the constructor ${what}`);
  ObjectDefineProperty(stub, 'prototype', { __proto__: null, value: prototype, writable: false });
  ObjectDefineProperty(stub, 'name', { __proto__: null, value: what });
  ObjectDefineProperty(prototype, 'constructor', { __proto__: null, value: stub, writable: false, configurable: false });
  if (what === 'Function') define(globalThis, 'Function', stub);
}
delete globalThis.SharedArrayBuffer;
delete globalThis.Atomics;

// Names of other runtimes. Using one throws a line that says what to use instead; `typeof` and comparing do not throw.
const absent = table();
absent.fetch = 'the sandbox has no network of its own: call a web tool of ctx, for example ctx.webFetch(url), if it is allowed';
absent.XMLHttpRequest = absent.WebSocket = absent.EventSource = absent.fetch;
absent.require = 'modules cannot be loaded: the script is one file; files are read with ctx.readFile(path)';
absent.process = 'there is no process: use inputs for parameters and ctx.bash(...) for commands, if it is allowed';
absent.Deno = absent.Bun = absent.process;
absent.Buffer = 'there is no Buffer: use TextEncoder, TextDecoder, atob and btoa';
absent.fs = 'there is no file system module: use ctx.readFile(path), ctx.glob(pattern), ctx.grep(pattern)';
absent.path = 'there is no path module: paths are plain text relative to the workspace';
absent.child_process = 'there is no child_process: use ctx.bash(...), if it is allowed';
absent.Worker = 'there are no threads: Promise.all and ctx.parallel(items, fn) run calls side by side';
absent.window = absent.document = absent.localStorage = 'this is not a browser: work with the values that ctx methods return';
for (const name of ObjectKeys(absent)) {
  const refuse = () => {
    throw new ReferenceError(`${name} is not available: ${absent[name]}`);
  };
  const traps = { __proto__: null, get: refuse, set: refuse, has: refuse, apply: refuse, construct: refuse };
  define(globalThis, name, new Proxy(function () {}, traps));
}

// console: captured within a byte budget; what does not fit is counted, never silently lost.
const console = {
  __proto__: null,
  lines: list(),
  count: 0,
  left: 0,
  lost: 0,
};
const write = (level, args) => {
  const pieces = list();
  for (let i = 0; i < args.length; i++) pieces[i] = preview(args[i], console.left + 1);
  const text = join(pieces, ' ');
  if (text.length + 8 > console.left) {
    console.lost++;
    return;
  }
  const line = join(['["', level, '",', JSONStringify(text), ']'], '');
  console.left -= text.length + 8;
  console.lines[console.count++] = line;
};
const consoleObject = {};
const counts = new NativeMap();
for (const level of ['debug', 'info', 'log', 'warn', 'error']) consoleObject[level] = (...args) => write(level, args);
consoleObject.trace = (...args) => write('debug', args);
consoleObject.dir = (value) => write('log', [value]);
consoleObject.table = (value) => write('log', [value]);
consoleObject.assert = (condition, ...args) => {
  if (!condition) write('error', ['Assertion failed', ...args]);
};
consoleObject.count = (label = 'default') => {
  const key = `${label}`;
  mapSet(counts, key, (mapGet(counts, key) ?? 0) + 1);
  write('info', [`${key}: ${mapGet(counts, key)}`]);
};
consoleObject.time = (label = 'default') => mapSet(counts, `time ${label}`, now);
consoleObject.timeEnd = (label = 'default') => {
  write('info', [`${label}: ${now - (mapGet(counts, `time ${label}`) ?? now)} ms`]);
};
consoleObject.group = consoleObject.groupEnd = consoleObject.groupCollapsed = () => {};
define(globalThis, 'console', consoleObject);
