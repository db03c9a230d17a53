// The bridge: ctx, the queue of calls, and the one function through which the host's side enters.
//
// enter(op, text), in the last file, is all that the worker holds. It never returns anything but flat text: "" or a letter and JSON.
// A call is queued as text; its promise is settled when the host answers. take() says what the script did since the last
// turn: "T{...}" idle, "D{...}" the end, "P" run the jobs once more and ask again.

const TURN_BYTES = 4 * 1024 * 1024;
const DRAIN_MS = 1000;
// No tool has a longer name; what is over it is cut, and refused by the host as unknown.
const NAME_CAP = 200;

let limits = null;
let phase = 'loading';
let result;
let inputs;
let failed = null;
let deadline = 0;
let drainUntil = 0;
let callsLeft = 0;
let attemptsLeft = 0;
let flooded = 0;
let lastId = 0;
let firstQueued = null;
let lastQueued = null;
let announced = 0;
const inFlight = new NativeMap();
const promisesInResult = new NativeMap();

let progress = list();
let progressCount = 0;
let warnings = list();
let warningCount = 0;
let warningsInAll = 0;

// A list gets its new member only when that is made: making it may run out of memory, which a script can catch, and a
// list with a gap is no JSON.
// Each member by itself: an array given to JSON.stringify would consult a toJSON that the script put on a prototype.
const jsonList = (...members) => {
  const out = list();
  for (let i = 0; i < members.length; i++) out[i] = JSONStringify(members[i] ?? null);
  return join(['[', join(out, ','), ']'], '');
};

const warn = (code, message, path = null, line = null) => {
  if (++warningsInAll > MAX_WARNINGS) return;
  const text = jsonList(code, slice(message, 0, 500), path, line);
  warnings[warningCount++] = text;
};

const fail = (thrown) => {
  if (phase === 'failed' || phase === 'returned' || phase === 'draining') return;
  phase = 'failed';
  failed = describe(thrown);
};

// One rejected promise serves the whole of a flood: it must not cost the script its heap.
let floodPromise = null;
const refuseFlood = () => {
  flooded++;
  if (floodPromise === null) {
    const message = `the program has attempted far more calls than its limit of ${limits.max_tool_calls}`;
    const error = new ToolError(message, { __proto__: null, code: 'call_limit' });
    define(error, 'stack', userStack(textOf(error, 'stack')));
    floodPromise = new NativePromise((_, reject) => reject(error));
  }
  return floodPromise;
};

// Most calls have a few short texts as arguments; the general encoder is for the rest.
const encodeArgs = (method, args, line) => {
  const count = args.length;
  if (count === 0) return '[]';
  if (count <= 2 && typeof args[0] === 'string' && args[0].length < 1000) {
    const first = JSONStringify(args[0]);
    if (count === 1) return join(['[', first, ']'], '');
    if (typeof args[1] === 'string' && args[1].length < 1000) return join(['[', first, ',', JSONStringify(args[1]), ']'], '');
  }
  const lossy = (code, message, path) => warn(code, message, path, line);
  return new Encoder(method, limits.args_bytes, limits.max_nodes, limits.max_depth, lossy, null).text(args);
};

// One call, whatever its name: the host decides whether there is such a method. The Error is made now, so that its
// stack holds the script's line and not the bridge's; there is none if the engine itself calls, as in .then(ctx.grep).
const call = (name, args) => {
  if (attemptsLeft <= 0) return refuseFlood();
  attemptsLeft--;
  const error = new ToolError('');
  const line = lineOf(error.stack);
  const method = name.length > NAME_CAP ? `${slice(name, 0, NAME_CAP - 1)}\u2026` : name;
  return new NativePromise((resolve, reject) => {
    let text = '[]';
    let trouble = 'null';
    try {
      text = encodeArgs(method, args, line);
    } catch (thrown) {
      const crossing = Crossing.is(thrown);
      const isCap = crossing && (thrown.code === 'size' || thrown.code === 'nodes' || thrown.code === 'depth');
      const why = crossing ? thrown.message : describe(thrown).message;
      if (method === 'tool' && typeof args[0] === 'string') text = join(['[', JSONStringify(args[0]), ']'], '');
      trouble = jsonList(isCap ? 'arguments_too_large' : 'invalid_arguments', slice(why, 0, 600));
    }
    const id = ++lastId;
    const json = join(
      ['{"id":', id, ',"method":', JSONStringify(method), ',"args":', text, ',"line":', line === null ? 'null' : line, ',"trouble":', trouble, '}'],
      '',
    );
    const entry = { __proto__: null, id, method, line, json, resolve, reject, error, next: null };
    if (lastQueued === null) firstQueued = entry;
    else lastQueued.next = entry;
    lastQueued = entry;
  });
};

const method = (name, body) => {
  ObjectDefineProperty(body, 'name', { __proto__: null, value: `ctx.${name}` });
  return ObjectFreeze(body);
};

// Names that code probes on any object: they must not look like tools.
const probes = table();
for (const name of ['then', 'catch', 'finally', 'toJSON', 'constructor', 'prototype', 'valueOf', 'toString', '__proto__', 'inspect', 'nodeType', '$$typeof', 'asymmetricMatch']) {
  probes[name] = true;
}

// A frozen object whose members are made when they are first asked for: a program uses two or three of them, and has to
// wait for all that are made at its start. An unknown name gives a function too: calling it reaches the host, which
// refuses it, records the attempt and names the nearest tool. `in` and Object.keys tell what is really there.
const unmade = () => undefined;
const open = (names, make) => {
  const target = ObjectCreate(null);
  for (let i = 0; i < names.length; i++) {
    ObjectDefineProperty(target, names[i], { __proto__: null, get: unmade, enumerable: true, configurable: false });
  }
  const made = table();
  return new Proxy(ObjectFreeze(target), {
    __proto__: null,
    get(_, name) {
      if (typeof name !== 'string') return undefined;
      if (made[name] !== undefined) return made[name];
      if (probes[name] && ObjectGetOwnPropertyDescriptor(target, name) === undefined) return undefined;
      made[name] = make(name);
      return made[name];
    },
  });
};

const direct = (name) => method(name, (...args) => call(name, args));
const envelope = (name) => method(`tools.${name}`, (args) => call('tool', [name, args]));

const parallel = async (items, fn, limit = 8) => {
  if (typeof fn !== 'function') throw new TypeError('ctx.parallel(items, fn, n = 8): fn must be a function');
  if (typeof limit !== 'number' || !(limit >= 1)) throw new TypeError('ctx.parallel(items, fn, n = 8): n must be 1 or more');
  const all = [...items];
  const results = [];
  results.length = all.length;
  let at = 0;
  let broken = false;
  let first;
  const worker = async () => {
    while (at < all.length && !broken) {
      const index = at++;
      try {
        results[index] = await fn(all[index], index);
      } catch (error) {
        if (!broken) first = error;
        broken = true;
      }
    }
  };
  const workers = [];
  for (let i = 0; i < limit && i < all.length; i++) workers.push(worker());
  for (const running of workers) await running;
  if (broken) throw first;
  return results;
};

const camel = (name) => {
  const out = list();
  let count = 0;
  let up = false;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (c === '_') up = true;
    else {
      out[count++] = up ? c.toUpperCase() : c;
      up = false;
    }
  }
  return join(out, '');
};

const liveLimits = () => {
  const view = ObjectCreate(null);
  const keys = ObjectKeys(limits);
  for (let i = 0; i < keys.length; i++) view[camel(keys[i])] = limits[keys[i]];
  const live = (name, get) => ObjectDefineProperty(view, name, { __proto__: null, get, enumerable: true });
  live('callsLeft', () => callsLeft);
  live('msLeft', () => (deadline > now ? deadline - now : 0));
  live('logBytesLeft', () => console.left);
  return ObjectFreeze(view);
};

const builtIn = table();
builtIn.tool = () => method('tool', (...args) => call('tool', args));
builtIn.parallel = () => method('parallel', parallel);
builtIn.sleep = () => method('sleep', (ms) => new NativePromise((resolve) => addTimer(() => resolve(), ms, [], false)));
builtIn.log = () => method('log', (...args) => write('log', args));
builtIn.progress = () =>
  method('progress', (message, fraction = null) => {
    if (progressCount >= 100) return;
    let part = null;
    if (typeof fraction === 'number' && fraction === fraction) part = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    const text = jsonList(slice(preview(message, 500), 0, 500), part);
    progress[progressCount++] = text;
  });
builtIn.limits = liveLimits;
builtIn.mcp = () =>
  open([], (server) =>
    open([], (name) => method(`mcp.${server}.${name}`, (...args) => call(`mcp__${server}__${name}`, args))),
  );

let ctx;
const buildContext = (methods, tools) => {
  const own = ['tool', 'tools', 'mcp', 'parallel', 'sleep', 'log', 'progress', 'limits'];
  const names = list();
  for (let i = 0; i < methods.length; i++) names[i] = methods[i];
  for (let i = 0; i < own.length; i++) names[methods.length + i] = own[i];
  return open(names, (name) => {
    if (name === 'tools') return open(tools, envelope);
    return builtIn[name] === undefined ? direct(name) : builtIn[name]();
  });
};

const exact = (key, value, context) => {
  if (typeof value !== 'number' || NumberIsSafeInteger(value)) return value;
  const source = context === undefined ? undefined : context.source;
  return typeof source === 'string' && regexpTest(/^-?\d+$/, source) !== null ? BigIntOf(source) : value;
};

const setup = (text) => {
  const start = JSONParse(text);
  limits = ObjectFreeze(ObjectSetPrototypeOf(start.limits, null));
  now = startedAt = start.now;
  deadline = now + start.left;
  seed.a = start.seed[0];
  seed.b = start.seed[1];
  seed.c = start.seed[2];
  seed.d = start.seed[3];
  for (let i = 0; i < 12; i++) random32();
  console.left = limits.log_bytes;
  callsLeft = limits.max_tool_calls;
  attemptsLeft = limits.max_tool_calls * 2 + 256;
  inputs = start.big ? JSONParse(start.inputs, exact) : JSONParse(start.inputs);
  ctx = buildContext(start.methods, start.tools);
};

const load = (name) => import(name);

const begin = () => {
  observe(load('<input>'), enterRun, fail);
};

const enterRun = (module) => {
  phase = 'running';
  let run;
  try {
    run = module.default;
    if (typeof run !== 'function') run = module.ptc$run;
    if (typeof run !== 'function') run = module.run;
    if (typeof run !== 'function') {
      phase = 'failed';
      const kind = module.default === undefined ? 'no run' : `a default export that is ${preview(module.default, 40)}`;
      failed = failure('entry', kind);
      return;
    }
  } catch (error) {
    fail(error);
    return;
  }
  let returned;
  try {
    returned = ReflectApply(run, undefined, [ctx, inputs]);
  } catch (error) {
    fail(error);
    return;
  }
  const returnedValue = (value) => {
    if (phase !== 'running') return;
    phase = 'returned';
    result = value;
  };
  // A promise is observed itself: resolving another one with it would look up a `then` that the script may have replaced.
  try {
    if (inheritsFrom(returned, PromisePrototype)) return observe(returned, returnedValue, fail);
  } catch {
    // no real promise, or a frozen one: the usual way is good enough for it
  }
  observe(new NativePromise((resolve) => resolve(returned)), returnedValue, fail);
};

const settle = (text, big) => {
  const turn = big ? JSONParse(text, exact) : JSONParse(text);
  now = turn.now;
  deadline = now + turn.left;
  for (let i = 0; i < turn.settled.length; i++) {
    const answer = turn.settled[i];
    const entry = mapGet(inFlight, answer[0]);
    if (entry === undefined) continue;
    mapDelete(inFlight, answer[0]);
    if (answer[1]) {
      entry.resolve(answer[2]);
      continue;
    }
    const error = entry.error;
    const facts = answer[2];
    error.message = facts.message;
    error.code = facts.code;
    error.tool = facts.tool;
    error.retryable = facts.retryable;
    error.details = facts.details;
    define(error, 'stack', userStack(textOf(error, 'stack')));
    entry.reject(error);
  }
  callsLeft = turn.calls_left;
};
