// Values out of the VM: JSON text, counted while it is written, with every lossy step told.
//
// BigInt -> integer; Date -> ISO text; Map -> object (text keys) or pairs; Set -> array; bytes -> {"$bytes": base64};
// toJSON is honoured; undefined members are dropped; NaN, infinities, functions and symbols -> null with a warning that
// names the path; cycles, throwing getters and anything over a cap -> Crossing, an error that names the path.
// Text is returned only through join: a string made by concatenation is a rope, which the wrapper cannot return.

// Fields are declared, so that assigning to them never reaches a setter that a script put on Object.prototype.
class Crossing {
  #made;
  code;
  message;
  constructor(code, message) {
    this.code = code;
    this.message = message;
  }

  // instanceof would run the traps of a Proxy that the script has thrown.
  static is(value) {
    return typeof value === 'object' && value !== null && #made in value;
  }
}

const BIGGEST = 10n ** 4300n;
const EMPTY_TRAIL = '';
const MAX_WARNINGS = 64;

class Encoder {
  // root: how messages name the value; caps: bytes (of UTF-16 units, the host counts UTF-8 again), nodes, depth;
  // warn(code, message, path), or null to write what JSON lacks as a word, for people; promises: Map of promise -> {done, value}
  // for a returned value, else null.
  root;
  left;
  maxBytes;
  nodes;
  maxNodes;
  maxDepth;
  warn;
  promises;
  told = 0;
  parts = list();
  count = 0;
  trail = list();
  above = list();
  constructor(root, maxBytes, maxNodes, maxDepth, warn, promises) {
    this.root = root;
    this.left = maxBytes;
    this.maxBytes = maxBytes;
    this.nodes = maxNodes;
    this.maxNodes = maxNodes;
    this.maxDepth = maxDepth;
    this.warn = warn;
    this.promises = promises;
  }

  text(value) {
    this.write(value, 0);
    return join(this.parts, '');
  }

  path(depth) {
    const steps = list();
    steps[0] = this.root;
    for (let i = 0; i < depth; i++) {
      const key = this.trail[i];
      steps[i + 1] = typeof key === 'number' ? `[${key}]` : `.${slice(key, 0, 80)}`;
    }
    return slice(join(steps, EMPTY_TRAIL), 0, 500);
  }

  add(piece) {
    this.left -= piece.length;
    if (this.left < 0) throw new Crossing('size', `is larger than ${this.maxBytes} bytes, the cap`);
    this.parts[this.count++] = piece;
  }

  lossy(what, depth) {
    this.tell('value_dropped', `${what} has no JSON form and became null`, depth);
    this.add(this.warn === null ? `<${what}>` : 'null');
  }

  // Paths are costly to write; beyond what is kept they are only counted.
  tell(code, message, depth) {
    if (this.warn !== null) this.warn(code, message, ++this.told > MAX_WARNINGS ? null : this.path(depth));
  }

  quote(value) {
    if (value.length > this.left) throw new Crossing('size', `is larger than ${this.maxBytes} bytes, the cap`);
    this.add(JSONStringify(value));
  }

  write(value, depth) {
    if (--this.nodes < 0) throw new Crossing('nodes', `holds more than ${this.maxNodes} values, the cap`);
    switch (typeof value) {
      case 'string':
        return this.quote(value);
      case 'number':
        if (value !== value || value === Infinity || value === -Infinity) return this.lossy(`${value}`, depth);
        // Above 2**53 the shortest text that reads back as this double names another integer: write the exact one.
        if ((value >= 2 ** 53 || value <= -(2 ** 53)) && value < 1e21 && value > -1e21) return this.add(bigintText(BigIntOf(value)));
        return this.add(value === 0 ? '0' : `${value}`);
      case 'boolean':
        return this.add(value ? 'true' : 'false');
      case 'undefined':
        return this.add('null');
      case 'bigint':
        if (value >= BIGGEST || value <= -BIGGEST) {
          throw new Crossing('form', `holds an integer of more than 4300 digits at ${this.path(depth)}`);
        }
        return this.add(bigintText(value));
      case 'function':
        return this.lossy('a function', depth);
      case 'symbol':
        return this.lossy('a symbol', depth);
    }
    if (value === null) return this.add('null');
    if (depth >= this.maxDepth) {
      throw new Crossing('depth', `is nested more than ${this.maxDepth} levels deep at ${this.path(depth)}`);
    }
    for (let i = depth - 1; i >= 0; i--) {
      if (this.above[i] === value) throw new Crossing('cycle', `refers to itself at ${this.path(depth)}`);
    }
    this.above[depth] = value;
    return this.writeObject(value, depth);
  }

  // Plain objects and arrays are asked for a toJSON of their own only: one put on Object.prototype or Array.prototype
  // by the script would otherwise rewrite every value, the list of arguments included.
  writeObject(value, depth) {
    let special = false;
    let toJSON;
    let isArray = false;
    try {
      const prototype = ObjectGetPrototypeOf(value);
      isArray = ArrayIsArray(value);
      special = prototype !== ObjectPrototype && prototype !== null && prototype !== ArrayPrototype;
      toJSON = special ? value.toJSON : ownValue(value, 'toJSON');
    } catch (error) {
      throw this.thrown(error, depth);
    }
    if (special && this.writeSpecial(value, depth)) return;
    if (typeof toJSON === 'function') {
      let plain;
      try {
        plain = ReflectApply(toJSON, value, ['']);
      } catch (error) {
        throw this.thrown(error, depth);
      }
      if (plain !== value) {
        this.trail[depth] = 'toJSON()';
        this.write(plain, depth + 1);
        return;
      }
    }
    if (isArray) this.writeArray(value, depth);
    else if (special && inheritsFrom(value, ErrorPrototype)) this.writeError(value, this.keysOf(value, depth), depth);
    else this.writeMembers(value, this.keysOf(value, depth), depth);
  }

  writeArray(value, depth) {
    this.add('[');
    const length = this.lengthOf(value, depth);
    for (let i = 0; i < length; i++) {
      if (i > 0) this.add(',');
      this.trail[depth] = i;
      this.write(this.get(value, i, depth), depth + 1);
    }
    this.add(']');
  }

  // The length of a Proxy around an array can be anything.
  lengthOf(value, depth) {
    try {
      return +value.length;
    } catch (error) {
      throw this.thrown(error, depth);
    }
  }

  keysOf(value, depth) {
    try {
      return ObjectKeys(value);
    } catch (error) {
      throw this.thrown(error, depth);
    }
  }

  writeMembers(value, keys, depth) {
    this.add('{');
    let first = true;
    for (let i = 0; i < keys.length; i++) first = this.member(value, keys[i], depth, first);
    this.add('}');
  }

  writeError(value, keys, depth) {
    this.add('{"name":');
    this.quote(textOf(value, 'name') ?? 'Error');
    this.add(',"message":');
    this.quote(textOf(value, 'message') ?? '');
    for (let i = 0; i < keys.length; i++) {
      if (keys[i] !== 'name' && keys[i] !== 'message') this.member(value, keys[i], depth, false);
    }
    this.add('}');
  }

  member(value, key, depth, first) {
    const member = this.get(value, key, depth);
    if (member === undefined) return first;
    if (!first) this.add(',');
    this.quote(key);
    this.add(':');
    this.trail[depth] = key;
    this.write(member, depth + 1);
    return false;
  }

  get(value, key, depth) {
    try {
      return value[key];
    } catch (error) {
      this.trail[depth] = key;
      throw this.thrown(error, depth + 1);
    }
  }

  thrown(error, depth) {
    if (Crossing.is(error)) return error;
    const { kind, message } = describe(error);
    if (kind === 'memory') return error;
    return new Crossing('getter', `cannot be read at ${this.path(depth)}: ${slice(message, 0, 300)}`);
  }

  // Built-in kinds that JSON would drop or empty. True if the value was written.
  writeSpecial(value, depth) {
    if (inheritsFrom(value, DatePrototype)) {
      const time = attempt(dateTime, value);
      if (time === NOT) return false;
      if (time !== time) this.lossy('an invalid Date', depth);
      else this.quote(dateISO(value));
      return true;
    }
    if (inheritsFrom(value, PromisePrototype)) return this.writePromise(value, depth);
    if (inheritsFrom(value, MapPrototype) && attempt(mapSize, value) !== NOT) return this.writeMap(value, depth);
    if (inheritsFrom(value, SetPrototype)) return this.writeSet(value, depth);
    const bytes = attempt(bytesOf, value);
    if (bytes !== NOT && bytes !== null) {
      this.add('{"$bytes":');
      if (typedBytes(bytes) > this.left) throw new Crossing('size', `is larger than ${this.maxBytes} bytes, the cap`);
      this.quote(bytesToBase64(bytes));
      this.add('}');
      return true;
    }
    let plain = attempt(numberValue, value);
    if (plain === NOT) plain = attempt(stringValue, value);
    if (plain === NOT) plain = attempt(booleanValue, value);
    if (plain === NOT) return false;
    this.write(plain, depth);
    return true;
  }

  writeMap(value, depth) {
    const keys = list();
    const values = list();
    let count = 0;
    let plain = true;
    mapForEach(value, (member, key) => {
      if (count > this.nodes) throw new Crossing('nodes', `holds more than ${this.maxNodes} values, the cap`);
      if (typeof key !== 'string') plain = false;
      keys[count] = key;
      values[count++] = member;
    });
    this.add(plain ? '{' : '[');
    let first = true;
    for (let i = 0; i < count; i++) {
      this.trail[depth] = plain ? keys[i] : i;
      if (plain && values[i] === undefined) continue;
      if (!first) this.add(',');
      first = false;
      if (plain) this.quote(keys[i]);
      else {
        this.add('[');
        this.write(keys[i], depth + 1);
      }
      this.add(plain ? ':' : ',');
      this.write(values[i], depth + 1);
      if (!plain) this.add(']');
    }
    this.add(plain ? '}' : ']');
    return true;
  }

  writeSet(value, depth) {
    const members = list();
    let count = 0;
    try {
      setForEach(value, (member) => {
        if (count > this.nodes) throw new Crossing('nodes', `holds more than ${this.maxNodes} values, the cap`);
        members[count++] = member;
      });
    } catch (error) {
      if (Crossing.is(error)) throw error;
      return false;
    }
    this.add('[');
    for (let i = 0; i < count; i++) {
      if (i > 0) this.add(',');
      this.trail[depth] = i;
      this.write(members[i], depth + 1);
    }
    this.add(']');
    return true;
  }

  writePromise(value, depth) {
    if (this.promises === null) {
      this.tell('missing_await', 'a promise was passed where a value belongs; put `await` before it', depth);
      this.add(this.warn === null ? '<a promise without await>' : 'null');
      return true;
    }
    const seen = mapGet(this.promises, value);
    if (seen === undefined) {
      if (mapSize(this.promises) >= 1000) throw new Crossing('form', 'holds more than 1000 promises; `await` them');
      mapSet(this.promises, value, { __proto__: null, done: false, ok: false, value: undefined });
      this.add('null');
      return true;
    }
    const end = seen.done ? (seen.ok ? 'it was awaited for you' : 'it rejected and became null') : 'it never settled and became null';
    this.tell('missing_await', `the returned value holds a promise; put \`await\` before it (${end})`, depth);
    if (seen.done && seen.ok) this.write(seen.value, depth);
    else this.add('null');
    return true;
  }
}

const ownValue = (value, key) => {
  const own = ObjectGetOwnPropertyDescriptor(value, key);
  return own === undefined ? undefined : own.get === undefined ? own.value : value[key];
};

const NOT = { __proto__: null };
const attempt = (f, value) => {
  try {
    return f(value);
  } catch {
    return NOT;
  }
};

// The bytes of a typed array, a DataView or an ArrayBuffer, as a Uint8Array; null for anything else.
const viewBuffer = uncurry(ObjectGetOwnPropertyDescriptor(DataView.prototype, 'buffer').get);
const viewOffset = uncurry(ObjectGetOwnPropertyDescriptor(DataView.prototype, 'byteOffset').get);
const viewLength = uncurry(ObjectGetOwnPropertyDescriptor(DataView.prototype, 'byteLength').get);
const bytesOf = (value) => {
  if (typedArrayTag(value) !== undefined) {
    return new NativeUint8Array(typedBuffer(value), typedOffset(value), typedBytes(value));
  }
  if (attempt(bufferLength, value) !== NOT) return new NativeUint8Array(value);
  const buffer = attempt(viewBuffer, value);
  return buffer === NOT ? null : new NativeUint8Array(buffer, viewOffset(value), viewLength(value));
};

// A short text of any value for console lines and messages; never throws.
const preview = (value, cap = 2000) => {
  if (typeof value === 'string') return slice(value, 0, cap);
  if (typeof value === 'undefined') return 'undefined';
  if (typeof value === 'symbol') return 'Symbol()';
  if (typeof value === 'number' || typeof value === 'boolean') return `${value}`;
  if (typeof value === 'function') return `[function ${textOf(value, 'name') ?? ''}]`;
  try {
    if (typeof value === 'object' && value !== null && inheritsFrom(value, ErrorPrototype)) {
      const stack = userStack(textOf(value, 'stack'));
      return slice(`${textOf(value, 'name')}: ${textOf(value, 'message')}${stack ? `\n${stack}` : ''}`, 0, cap);
    }
    return slice(new Encoder('value', cap * 4, 2000, 20, null, null).text(value), 0, cap);
  } catch (error) {
    return Crossing.is(error) ? `[a value that ${error.message}]` : '[a value that cannot be shown]';
  }
};
