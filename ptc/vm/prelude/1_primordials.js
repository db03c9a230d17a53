// Intrinsics captured before the script runs.
//
// The prelude is one closure, made by joining the files of this folder in order. After the script starts, nothing in it
// looks anything up on a global or a prototype: a script that replaces Promise.prototype.then, JSON.stringify or
// Array.prototype.push fools itself and not the bridge. Internal tables have no prototype, so that a setter put on
// Object.prototype or Array.prototype is never reached.

const NativeError = Error;
const NativePromise = Promise;
const NativeDate = Date;
const NativeMap = Map;
const ReflectApply = Reflect.apply;
const ReflectConstruct = Reflect.construct;
const ReflectGet = Reflect.get;
const ObjectCreate = Object.create;
const ObjectDefineProperty = Object.defineProperty;
const ObjectFreeze = Object.freeze;
const ObjectGetOwnPropertyDescriptor = Object.getOwnPropertyDescriptor;
const ObjectGetPrototypeOf = Object.getPrototypeOf;
const ObjectKeys = Object.keys;
const ObjectSetPrototypeOf = Object.setPrototypeOf;
const ArrayIsArray = Array.isArray;
const JSONParse = JSON.parse;
const JSONStringify = JSON.stringify;
const StringOf = String;
const BigIntOf = BigInt;
const MathFloor = Math.floor;
const NumberIsSafeInteger = Number.isSafeInteger;

const uncurry = ((bind, call) => (f) => ReflectApply(bind, call, [f]))(Function.prototype.bind, Function.prototype.call);
const join = uncurry(Array.prototype.join);
const charCodeAt = uncurry(String.prototype.charCodeAt);
const indexOf = uncurry(String.prototype.indexOf);
const slice = uncurry(String.prototype.slice);
const then = uncurry(Promise.prototype.then);
const mapGet = uncurry(Map.prototype.get);
const mapSet = uncurry(Map.prototype.set);
const mapHas = uncurry(Map.prototype.has);
const mapDelete = uncurry(Map.prototype.delete);
const mapForEach = uncurry(Map.prototype.forEach);
const mapSize = uncurry(ObjectGetOwnPropertyDescriptor(Map.prototype, 'size').get);
const setForEach = uncurry(Set.prototype.forEach);
const dateTime = uncurry(Date.prototype.getTime);
const dateISO = uncurry(Date.prototype.toISOString);
const bigintText = uncurry(BigInt.prototype.toString);
const regexpTest = uncurry(RegExp.prototype.exec);
const regexpText = uncurry(RegExp.prototype.toString);
const numberValue = uncurry(Number.prototype.valueOf);
const stringValue = uncurry(String.prototype.valueOf);
const booleanValue = uncurry(Boolean.prototype.valueOf);
const typedArrayTag = uncurry(
  ObjectGetOwnPropertyDescriptor(ObjectGetPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get,
);
const bufferLength = uncurry(ObjectGetOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get);
const typedProto = ObjectGetPrototypeOf(Uint8Array.prototype);
const typedBuffer = uncurry(ObjectGetOwnPropertyDescriptor(typedProto, 'buffer').get);
const typedOffset = uncurry(ObjectGetOwnPropertyDescriptor(typedProto, 'byteOffset').get);
const typedBytes = uncurry(ObjectGetOwnPropertyDescriptor(typedProto, 'byteLength').get);
const NativeUint8Array = Uint8Array;
const bytesToBase64 = uncurry(Uint8Array.prototype.toBase64);

const ObjectPrototype = Object.prototype;
const ArrayPrototype = Array.prototype;
const MapPrototype = Map.prototype;
const SetPrototype = Set.prototype;
const DatePrototype = Date.prototype;
const ErrorPrototype = Error.prototype;
const PromisePrototype = Promise.prototype;
const InternalErrorPrototype = InternalError.prototype;
const RangeErrorPrototype = RangeError.prototype;

const table = () => ObjectCreate(null);
const list = () => ObjectSetPrototypeOf([], null);
const define = (target, name, value) =>
  ObjectDefineProperty(target, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });

// A promise that is observed without consulting Promise.prototype.constructor or Symbol.species.
const observe = (promise, onValue, onError) => {
  ObjectDefineProperty(promise, 'constructor', { __proto__: null, value: undefined, configurable: true });
  then(promise, onValue, onError);
};

const inheritsFrom = (value, prototype) => {
  let at = value;
  if (at === null || (typeof at !== 'object' && typeof at !== 'function')) return false;
  for (let i = 0; i < 16 && at !== null; i++) {
    at = ObjectGetPrototypeOf(at);
    if (at === prototype) return true;
  }
  return false;
};
