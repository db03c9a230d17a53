// Errors: the class that scripts catch, the places they name, and their conversion to plain facts inside the VM.
//
// An exception must never reach the Python wrapper as an object: the wrapper turns it into text with the time limit off.
// So every end of a script is converted here, under the limit, and the error prototypes are sealed so that the engine's
// own conversion of an interrupt cannot run code of the script.

// Lines above this are lines of the prelude: the loader puts that many line ends before it.
const USER_LINES = PTC_USER_LINES;
const MESSAGE_CAP = 4000;
const STACK_CAP = 4000;

class ToolError extends Error {
  code;
  tool;
  retryable;
  details;
  constructor(message = '', facts = undefined) {
    super(message);
    this.code = facts?.code ?? 'tool_failed';
    this.tool = facts?.tool ?? null;
    this.retryable = facts?.retryable ?? false;
    this.details = facts?.details ?? {};
  }
}
define(ToolError.prototype, 'name', 'ToolError');
// The bridge makes errors of this class: another superclass would be code of the script inside it.
ObjectFreeze(ToolError);
define(globalThis, 'ToolError', ToolError);

// Scripts may set `this.name = ...` in their own error classes; a plainly frozen prototype would make that throw.
const seal = (prototype, key) => {
  const value = prototype[key];
  ObjectDefineProperty(prototype, key, {
    __proto__: null,
    configurable: false,
    enumerable: false,
    get() {
      return value;
    },
    set(next) {
      if (this === prototype) return;
      ObjectDefineProperty(this, key, { __proto__: null, value: next, writable: true, enumerable: false, configurable: true });
    },
  });
};
for (const prototype of [
  Error.prototype, EvalError.prototype, RangeError.prototype, ReferenceError.prototype, SyntaxError.prototype,
  TypeError.prototype, URIError.prototype, InternalError.prototype, AggregateError.prototype, ToolError.prototype,
]) {
  for (const key of ['name', 'message', 'toString']) if (Object.hasOwn(prototype, key)) seal(prototype, key);
  ObjectFreeze(prototype);
}
// With a hook on stack traces a script could take hold of functions of the bridge.
for (const key of ['prepareStackTrace']) {
  ObjectDefineProperty(Error, key, { __proto__: null, configurable: false, get: () => undefined, set() {} });
}
// Without its constructor no script can make the error by which the engine reports an exhausted heap.
delete globalThis.InternalError;

// The number that stands in a text before this mark, if it can be one of a file: a script can write anything into a stack.
const numberBefore = (text, at, mark) => {
  const end = indexOf(text, mark, at);
  const number = end < 0 || end - at > 9 ? NaN : +slice(text, at, end);
  return number >= 1 && number === MathFloor(number) ? number : NaN;
};

// Where the first frame of the user's file begins to tell its line; -1 if no frame is one of the user's file.
const placeAt = (stack) => {
  let at = indexOf(stack, '<input>:');
  while (at >= 0 && !(numberBefore(stack, at + 8, ':') <= USER_LINES)) at = indexOf(stack, '<input>:', at + 8);
  return at < 0 ? -1 : at + 8;
};

// The first place in the user's file that a stack names: {line, column}, or null.
const placeOf = (stack) => {
  const at = typeof stack === 'string' ? placeAt(stack) : -1;
  if (at < 0) return null;
  const column = numberBefore(stack, indexOf(stack, ':', at) + 1, ')');
  return { __proto__: null, line: numberBefore(stack, at, ':'), column: column === column ? column : null };
};

const lineOf = (stack) => {
  const at = typeof stack === 'string' ? placeAt(stack) : -1;
  return at < 0 ? null : numberBefore(stack, at, ':');
};

// A stack without the frames of the prelude.
const userStack = (stack) => {
  if (typeof stack !== 'string') return null;
  const kept = list();
  let count = 0;
  let from = 0;
  const text = slice(stack, 0, STACK_CAP * 4);
  while (from < text.length && count < 20) {
    let end = indexOf(text, '\n', from);
    if (end < 0) end = text.length;
    const frame = slice(text, from, end);
    if (placeAt(frame) >= 0) kept[count++] = frame;
    from = end + 1;
  }
  return slice(join(kept, '\n'), 0, STACK_CAP);
};

const textOf = (object, key) => {
  try {
    const value = object[key];
    return typeof value === 'string' ? slice(value, 0, MESSAGE_CAP) : null;
  } catch {
    return null;
  }
};

const failure = (kind, message, name = null, stack = null, place = null, code = null) => ({
  __proto__: null,
  kind,
  name,
  message,
  stack,
  line: place === null ? null : place.line,
  column: place === null ? null : place.column,
  code,
});

const THREW_NULL = 'threw null';

// Whatever was thrown, as facts. Runs code of the script only through getters, under the time limit.
const describe = (thrown) => {
  try {
    if (thrown === null) return failure('script', THREW_NULL);
    if (typeof thrown !== 'object' && typeof thrown !== 'function') {
      const text = typeof thrown === 'symbol' ? 'a symbol' : StringOf(thrown);
      return failure('script', slice(`threw ${typeof thrown === 'string' ? 'the text ' : ''}${text}`, 0, MESSAGE_CAP));
    }
    const message = textOf(thrown, 'message');
    let name = textOf(thrown, 'name');
    const stack = textOf(thrown, 'stack');
    const place = placeOf(stack);
    const prototype = ObjectGetPrototypeOf(thrown);
    if (prototype === InternalErrorPrototype && message === 'out of memory') {
      return failure('memory', message, name, userStack(stack), place);
    }
    if (prototype === RangeErrorPrototype && message === 'Maximum call stack size exceeded') {
      return failure('stack', message, name, userStack(stack), place);
    }
    if (message === null && name === null) {
      return failure('script', `threw a value that is no Error: ${preview(thrown)}`);
    }
    const code = inheritsFrom(thrown, ToolError.prototype) ? textOf(thrown, 'code') : null;
    if (name === null || !inheritsFrom(thrown, ErrorPrototype)) name = 'Error';
    return failure('script', message ?? '', name, userStack(stack), place, code);
  } catch {
    return failure('script', 'threw a value that cannot be shown');
  }
};
