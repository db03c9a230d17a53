// Small parts of the web platform that scripts reach for without thinking. They run in the VM and touch nothing else.

define(globalThis, 'TextEncoder', class TextEncoder {
  get encoding() {
    return 'utf-8';
  }
  encode(input = '') {
    const text = `${input}`;
    const out = new NativeUint8Array(text.length * 3);
    let at = 0;
    for (let i = 0; i < text.length; i++) {
      let code = charCodeAt(text, i);
      if (code >= 0xd800 && code < 0xe000) {
        const low = code < 0xdc00 && i + 1 < text.length ? charCodeAt(text, i + 1) : 0;
        if (low >= 0xdc00 && low < 0xe000) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          i++;
        } else code = 0xfffd;
      }
      if (code < 0x80) out[at++] = code;
      else if (code < 0x800) {
        out[at++] = 0xc0 | (code >> 6);
        out[at++] = 0x80 | (code & 63);
      } else if (code < 0x10000) {
        out[at++] = 0xe0 | (code >> 12);
        out[at++] = 0x80 | ((code >> 6) & 63);
        out[at++] = 0x80 | (code & 63);
      } else {
        out[at++] = 0xf0 | (code >> 18);
        out[at++] = 0x80 | ((code >> 12) & 63);
        out[at++] = 0x80 | ((code >> 6) & 63);
        out[at++] = 0x80 | (code & 63);
      }
    }
    return out.slice(0, at);
  }
});

define(globalThis, 'TextDecoder', class TextDecoder {
  #fatal;
  #keepBom;
  constructor(label = 'utf-8', options = {}) {
    const name = `${label}`.toLowerCase();
    if (name !== 'utf-8' && name !== 'utf8') throw new RangeError(`TextDecoder knows utf-8 only, not ${preview(label, 40)}`);
    this.#fatal = Boolean(options.fatal);
    this.#keepBom = Boolean(options.ignoreBOM);
  }
  get encoding() {
    return 'utf-8';
  }
  get fatal() {
    return this.#fatal;
  }
  decode(input) {
    if (input === undefined) return '';
    const bytes = attempt(bytesOf, input);
    if (bytes === NOT || bytes === null) throw new TypeError('TextDecoder.decode needs a typed array or an ArrayBuffer');
    const out = list();
    let count = 0;
    let at = 0;
    const bad = () => {
      if (this.#fatal) throw new TypeError('the bytes are not valid UTF-8');
      return 0xfffd;
    };
    while (at < bytes.length) {
      const first = bytes[at++];
      let code = first;
      if (first >= 0x80) {
        const need = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
        if (need === 0) code = bad();
        else {
          code = first & (0x3f >> need);
          let taken = 0;
          for (; taken < need && at < bytes.length; taken++) {
            const next = bytes[at];
            let least = 0x80;
            let most = 0xbf;
            if (taken === 0) {
              if (first === 0xe0) least = 0xa0;
              if (first === 0xed) most = 0x9f;
              if (first === 0xf0) least = 0x90;
              if (first === 0xf4) most = 0x8f;
            }
            if (next < least || next > most) break;
            code = (code << 6) | (next & 63);
            at++;
          }
          if (taken < need) code = bad();
        }
      }
      out[count++] = StringOf.fromCodePoint(code);
    }
    if (!this.#keepBom && count > 0 && out[0] === '\ufeff') out[0] = '';
    return join(out, '');
  }
});

const cloneError = (what) => {
  throw new DOMException(`structuredClone cannot copy ${what}`, 'DataCloneError');
};
define(globalThis, 'structuredClone', (value) => {
  const copies = new NativeMap();
  const copy = (item) => {
    if (typeof item === 'function') cloneError('a function');
    if (typeof item === 'symbol') cloneError('a symbol');
    if (typeof item !== 'object' || item === null) return item;
    if (mapHas(copies, item)) return mapGet(copies, item);
    const keep = (made) => {
      mapSet(copies, item, made);
      return made;
    };
    if (ArrayIsArray(item)) {
      const made = keep([]);
      for (let i = 0; i < item.length; i++) made[i] = copy(item[i]);
      return made;
    }
    const time = attempt(dateTime, item);
    if (time !== NOT) return keep(new VirtualDate(time));
    if (attempt(mapSize, item) !== NOT) {
      const made = keep(new NativeMap());
      mapForEach(item, (member, key) => mapSet(made, copy(key), copy(member)));
      return made;
    }
    if (inheritsFrom(item, SetPrototype)) {
      const made = keep(new Set());
      setForEach(item, (member) => made.add(copy(member)));
      return made;
    }
    if (item instanceof RegExp) return keep(new RegExp(item.source, item.flags));
    const bytes = attempt(bytesOf, item);
    if (bytes !== NOT && bytes !== null) {
      const tag = typedArrayTag(item);
      const buffer = bytes.slice().buffer;
      return keep(tag === undefined ? buffer : new globalThis[tag](buffer));
    }
    if (inheritsFrom(item, PromisePrototype)) cloneError('a promise');
    if (inheritsFrom(item, ErrorPrototype)) {
      const made = keep(new NativeError(textOf(item, 'message') ?? ''));
      define(made, 'name', textOf(item, 'name') ?? 'Error');
      return made;
    }
    const made = keep({});
    const keys = ObjectKeys(item);
    for (let i = 0; i < keys.length; i++) made[keys[i]] = copy(item[keys[i]]);
    return made;
  };
  return copy(value);
});

// Form encoding of query strings.
const formEscape = (text) => encodeURIComponent(text.toWellFormed()).replace(/%20/g, '+').replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const formUnescape = (text) => {
  try {
    return decodeURIComponent(text.replace(/\+/g, ' '));
  } catch {
    return text.replace(/\+/g, ' ');
  }
};

class URLSearchParams {
  #pairs = [];
  #changed;
  constructor(init = '', changed = undefined) {
    this.#changed = changed;
    if (typeof init === 'string') {
      for (const part of init.replace(/^\?/, '').split('&')) {
        if (part === '') continue;
        const at = part.indexOf('=');
        const [key, value] = at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
        this.#pairs.push([formUnescape(key), formUnescape(value)]);
      }
    } else if (init && typeof init[Symbol.iterator] === 'function') {
      for (const [key, value] of init) this.#pairs.push([`${key}`, `${value}`]);
    } else for (const key of ObjectKeys(init ?? {})) this.#pairs.push([key, `${init[key]}`]);
  }
  #touch() {
    this.#changed?.(this.toString());
  }
  append(key, value) {
    this.#pairs.push([`${key}`, `${value}`]);
    this.#touch();
  }
  delete(key) {
    this.#pairs = this.#pairs.filter((pair) => pair[0] !== `${key}`);
    this.#touch();
  }
  get(key) {
    return this.#pairs.find((pair) => pair[0] === `${key}`)?.[1] ?? null;
  }
  getAll(key) {
    return this.#pairs.filter((pair) => pair[0] === `${key}`).map((pair) => pair[1]);
  }
  has(key) {
    return this.#pairs.some((pair) => pair[0] === `${key}`);
  }
  set(key, value) {
    const first = this.#pairs.find((pair) => pair[0] === `${key}`);
    if (first === undefined) this.#pairs.push([`${key}`, `${value}`]);
    else {
      first[1] = `${value}`;
      this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== `${key}`);
    }
    this.#touch();
  }
  sort() {
    this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    this.#touch();
  }
  forEach(callback) {
    for (const [key, value] of this.#pairs) callback(value, key, this);
  }
  keys() {
    return this.#pairs.map((pair) => pair[0]).values();
  }
  values() {
    return this.#pairs.map((pair) => pair[1]).values();
  }
  entries() {
    return this.#pairs.map((pair) => [pair[0], pair[1]]).values();
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  get size() {
    return this.#pairs.length;
  }
  toString() {
    return this.#pairs.map((pair) => `${formEscape(pair[0])}=${formEscape(pair[1])}`).join('&');
  }
}
define(globalThis, 'URLSearchParams', URLSearchParams);

const defaultPorts = { 'http:': '80', 'https:': '443', 'ftp:': '21', 'ws:': '80', 'wss:': '443' };
const urlParts = /^([a-zA-Z][a-zA-Z0-9+.-]*:)(?:\/\/(?:([^/?#@:]*)(?::([^/?#@]*))?@)?(\[[0-9a-fA-F:.]+\]|[^/?#:@[\]\s]*)(?::(\d{0,5}))?)?([^?#]*)(\?[^#]*)?(#.*)?$/s;
const percent = (text) => encodeURI(text.toWellFormed()).replace(/%25([0-9a-fA-F]{2})/g, '%$1');

// The parts of the URL standard that scripts use: special schemes, relative references, dot segments, default ports.
define(globalThis, 'URL', class URL {
  #at;
  #query;
  constructor(input, base = undefined) {
    this.#at = URL.#parse(`${input}`.trim(), base);
  }
  static canParse(input, base = undefined) {
    return URL.parse(input, base) !== null;
  }
  static parse(input, base = undefined) {
    try {
      return new URL(input, base);
    } catch {
      return null;
    }
  }
  static #parse(input, base) {
    const match = urlParts.exec(input);
    const bad = () => {
      throw new TypeError(`Invalid URL: ${slice(input, 0, 200)}`);
    };
    if (match === null) {
      if (base === undefined || /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(input)) bad();
      const root = base instanceof URL ? base : new URL(base);
      const split = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(input);
      if (input.startsWith('//')) return URL.#parse(root.protocol + input);
      const at = { ...root.#at };
      if (split[1] !== '') {
        at.pathname = URL.#dots(split[1].startsWith('/') ? percent(split[1]) : root.pathname.replace(/[^/]*$/, '') + percent(split[1]));
        at.search = percent(split[2] ?? '');
      } else if (split[2] !== undefined) at.search = percent(split[2]);
      at.hash = percent(split[3] ?? '');
      return at;
    }
    const protocol = match[1].toLowerCase();
    const special = protocol in defaultPorts;
    let hostname = match[4] ?? '';
    if (special && (hostname === '' || /[\s<>^|%\\]/.test(hostname))) bad();
    if (special) hostname = hostname.toLowerCase();
    const port = match[5] === undefined || match[5] === defaultPorts[protocol] ? '' : match[5];
    if (port !== '' && +port > 65535) bad();
    return {
      protocol, username: match[2] ?? '', password: match[3] ?? '', hostname, port: port === '' ? '' : `${+port}`,
      pathname: special ? URL.#dots(percent(match[6]) || '/') : match[6],
      search: match[7] === '?' ? '' : percent(match[7] ?? ''), hash: match[8] === '#' ? '' : percent(match[8] ?? ''),
      slashes: match[4] !== undefined,
    };
  }
  static #dots(path) {
    const out = [];
    const parts = path.split('/');
    parts.forEach((part, i) => {
      const last = i === parts.length - 1;
      if (part === '..') {
        if (out.length > 1) out.pop();
        if (last) out.push('');
      } else if (part === '.') {
        if (last) out.push('');
      } else out.push(part);
    });
    return out.join('/').replace(/^(?!\/)/, '/');
  }
  get href() {
    const at = this.#at;
    const user = at.username === '' ? '' : `${at.username}${at.password === '' ? '' : `:${at.password}`}@`;
    return `${at.protocol}${at.slashes ? '//' : ''}${user}${this.host}${at.pathname}${at.search}${at.hash}`;
  }
  get origin() {
    return this.#at.protocol in defaultPorts ? `${this.#at.protocol}//${this.host}` : 'null';
  }
  get host() {
    return this.#at.port === '' ? this.#at.hostname : `${this.#at.hostname}:${this.#at.port}`;
  }
  get searchParams() {
    this.#query ??= new URLSearchParams(this.#at.search, (text) => {
      this.#at.search = text === '' ? '' : `?${text}`;
    });
    return this.#query;
  }
  set search(value) {
    const text = `${value}`.replace(/^\?/, '');
    this.#at.search = text === '' ? '' : `?${percent(text)}`;
    this.#query = undefined;
  }
  get search() {
    return this.#at.search;
  }
  set hash(value) {
    const text = `${value}`.replace(/^#/, '');
    this.#at.hash = text === '' ? '' : `#${percent(text)}`;
  }
  get hash() {
    return this.#at.hash;
  }
  set pathname(value) {
    this.#at.pathname = URL.#dots(percent(`${value}`).replace(/^(?!\/)/, '/'));
  }
  get pathname() {
    return this.#at.pathname;
  }
  get protocol() {
    return this.#at.protocol;
  }
  get username() {
    return this.#at.username;
  }
  get password() {
    return this.#at.password;
  }
  get hostname() {
    return this.#at.hostname;
  }
  get port() {
    return this.#at.port;
  }
  toString() {
    return this.href;
  }
  toJSON() {
    return this.href;
  }
});
