// Tells powercut's tracer which line of JavaScript makes, or asks for, each call that changes files.
//
// Before: node has loaded this through NODE_OPTIONS, and no line of the program has run. After: the functions behind `fs`
// and the streams of libuv do what they did. While a synchronous one runs, a slot in memory holds the number of the stack;
// before an asynchronous one the tracer is told its key and who asks (native/told_format.h). Where no tracer listens, or
// this node is built otherwise, nothing is changed.
'use strict';

const TRACER = 0x70637374;
const DEPTH = 40; // frames of a stack
const MOST = 20000; // stacks and keys that are remembered; one forgotten is told again
const HEAD = 8;
const ASKED = Symbol('powercut.asked');
const CREATES = 0o100 | 0o1000; // O_CREAT, O_TRUNC: other opens change nothing

const fs = require('fs');
const write = fs.writeSync;
let off = false;
let busy = false; // the agent's own calls are not told
let contexts = null; // who asked, across callbacks and promises: made when the first asynchronous call comes

function send(letter, ...parts) {
  const message = Buffer.concat([Buffer.from('pctold1' + letter), ...parts]);
  sendBuffer(message);
}

function sendBuffer(message) {
  busy = true;
  try {
    write(TRACER, message);
  } catch {
    off = true;
  } finally {
    busy = false;
  }
}

function threadId() {
  try {
    return require('worker_threads').threadId;
  } catch {
    return 0;
  }
}

const HIGH = threadId(); // numbers of other threads are others
const slot = Buffer.alloc(4096); // so large a one is not moved by the garbage collector
slot.write('pctold1S', 'latin1');
const words = new Uint32Array(slot.buffer, slot.byteOffset, 8);
const HERE = 2;
const WHO = 4; // positions of the slot's fields in words

const numbers = new Map(); // text -> number
const texts = new Map(); // the other way round
let last = 0;

function numberOf(text) {
  let number = numbers.get(text);
  if (number === undefined) {
    if (numbers.size >= MOST) {
      numbers.clear();
      texts.clear();
    }
    number = ++last;
    numbers.set(text, number);
    texts.set(number, text);
    send('D', word(number), Buffer.from('node\0' + text));
  }
  return number;
}

function word(number) {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(number, 0);
  bytes.writeUInt32LE(HIGH, 4);
  return bytes;
}

function stackBelow(wrapper) {
  const limit = Error.stackTraceLimit;
  const holder = {};
  const frozen = Object.isFrozen(Error); // by --frozen-intrinsics, after this file was loaded
  if (!frozen) Error.stackTraceLimit = DEPTH;
  Error.captureStackTrace(holder, wrapper);
  let text = holder.stack;
  if (typeof text !== 'string' && !frozen) {
    const prepare = Error.prepareStackTrace;
    Error.prepareStackTrace = undefined;
    Error.captureStackTrace(holder, wrapper);
    text = holder.stack;
    Error.prepareStackTrace = prepare;
  }
  if (!frozen) Error.stackTraceLimit = limit;
  if (typeof text !== 'string') return '';
  if (!text.includes(__filename)) return text;
  return text.split('\n').filter((line) => !line.includes(__filename)).join('\n');
}

// The innermost line of a stack that is of the program itself, neither node's nor a package's; null if there is none.
function ownLine(text) {
  for (let at = text.indexOf('\n    at '); at >= 0; ) {
    const next = text.indexOf('\n    at ', at + 1);
    const line = next < 0 ? text.slice(at) : text.slice(at, next);
    if (line.includes('/') && !line.includes('node:') && !line.includes('/node_modules/')) return line;
    at = next;
  }
  return null;
}

// Whether the program called, and does not only wait for what node or a package goes on with.
function isCalled(line) {
  return line !== null && !line.startsWith('\n    at async ');
}

// The stack that asked for what node or a package goes on with by itself. That of the context, which tells the call, if
// the program waits for it on that way; otherwise the one at hand, which tells at least the line that waits.
function askedBy(text, line) {
  const asked = whoAsked();
  if (asked === 0) return numberOf(text);
  if (line === null) return asked;
  const place = line.slice(line.lastIndexOf('(') + 1).replace('\n    at async ', '').replace(/:\d+\)?$/, ':');
  return (texts.get(asked) || '').includes(place) ? asked : numberOf(text);
}

function context() {
  if (contexts === null) contexts = new (require('async_hooks').AsyncLocalStorage)();
  return contexts;
}

function whoAsked() {
  return contexts === null ? 0 : contexts.getStore() || 0;
}

// What the thread does itself, while it does it.
function tellHere(wrapper) {
  const text = stackBelow(wrapper);
  words[HERE + 1] = words[WHO + 1] = HIGH;
  words[HERE] = numberOf(text);
  const line = ownLine(text);
  const asked = isCalled(line) || whoAsked() === 0 ? 0 : askedBy(text, line);
  words[WHO] = asked;
  if (asked === 0) words[WHO + 1] = 0;
}

function forget() {
  words[HERE] = words[HERE + 1] = words[WHO] = words[WHO + 1] = 0;
}

const asks = new Map(); // key -> number told last

// Who asks a thread of the pool for a call; what follows from its answer was asked for by the same.
function tellAsked(wrapper, keys, request) {
  const text = stackBelow(wrapper);
  const line = ownLine(text);
  if (line === null && keys.length === 0) return; // what follows has the context that is there
  const number = isCalled(line) ? numberOf(text) : askedBy(text, line);
  if (request && typeof request.oncomplete === 'function') {
    const done = request.oncomplete; // the request was made before this call, in whatever context there was
    request.oncomplete = function (...args) {
      return context().run(number, () => Reflect.apply(done, this, args));
    };
  }
  for (const key of keys) {
    const known = key.toString('latin1');
    if (asks.get(known) === number) continue;
    if (asks.size >= MOST) asks.clear();
    asks.set(known, number);
    send('A', word(number), key);
  }
}

function key(letter, path) {
  return Buffer.concat([Buffer.from(letter), Buffer.from(path)]);
}

const byDescriptor = (letter) => (args) => [Buffer.from(`${letter}#${args[0]}`)];
const byPath = (letter, position) => (args) => [key(letter, args[position])];

function ancestors(args) {
  const keys = [key('m', args[0])];
  if (args[2] !== true || typeof args[0] !== 'string') return keys;
  for (let path = args[0], at; keys.length < 32 && (at = path.lastIndexOf('/')) > 0; ) {
    path = path.slice(0, at);
    keys.push(key('m', path));
  }
  return keys;
}

const opening = (args) => (args[1] & CREATES ? [key('o', args[0])] : []);
const KEYS = {
  writeBuffer: byDescriptor('w'),
  writeBuffers: byDescriptor('w'),
  writeString: byDescriptor('w'),
  fsync: byDescriptor('s'),
  fdatasync: byDescriptor('d'),
  ftruncate: byDescriptor('t'),
  close: byDescriptor('c'),
  fchmod: byDescriptor('x'),
  fchown: byDescriptor('x'),
  open: opening,
  openFileHandle: opening,
  rename: byPath('r', 0),
  unlink: byPath('u', 0),
  rmdir: byPath('u', 0),
  mkdir: ancestors,
  mkdtemp: (args) => [Buffer.concat([key('m', args[0]), Buffer.from('XXXXXX')])],
  symlink: byPath('l', 1),
  link: byPath('l', 1),
  copyFile: byPath('o', 1),
  chmod: byPath('x', 0),
  chown: byPath('x', 0),
  lchown: byPath('x', 0),
  writeFileUtf8: null, // only ever synchronous, as are those below
  rmSync: null,
  cpSyncCopyDir: null,
  cpSyncOverrideFile: null,
};
// They change nothing, but what libraries do in their callbacks was asked for by whoever called these.
const ONLY_CONTEXT = ['access', 'stat', 'lstat', 'fstat', 'statfs', 'read', 'readBuffers', 'readdir', 'readlink',
  'realpath', 'utimes', 'futimes', 'lutimes'];
const noKeys = () => [];

// The request of an asynchronous call, or the symbol for a promise; null for a synchronous one.
function requestOf(args, Request) {
  for (const argument of args) {
    if (typeof argument === 'symbol' || argument instanceof Request) return argument;
  }
  return null;
}

function follow(owner, name, keysOf, Request) {
  const original = owner[name];
  if (typeof original !== 'function') return;
  owner[name] = function followed(...args) {
    if (off || busy) return Reflect.apply(original, this, args);
    const request = keysOf === null ? null : requestOf(args, Request);
    if (request !== null) tellAsked(followed, keysOf(args), request);
    if (request !== null || keysOf === noKeys) return Reflect.apply(original, this, args);
    tellHere(followed);
    try {
      return Reflect.apply(original, this, args);
    } finally {
      forget();
    }
  };
  Object.defineProperty(owner[name], 'name', { value: name });
}

// What goes through pipes, sockets and terminals is written at once, where it can be.
function followStreams() {
  const Stream = Object.getPrototypeOf(process.binding('pipe_wrap').Pipe.prototype);
  for (const name of ['writev', 'writeBuffer', 'writeAsciiString', 'writeUtf8String', 'writeUcs2String',
    'writeLatin1String']) follow(Stream, name, null, null);
}

function followHandles(Handle) {
  const close = Handle.prototype.close;
  Handle.prototype.close = function followed(...args) {
    if (!off && !busy && this.fd >= 0) tellAsked(followed, [Buffer.from(`c#${this.fd}`)], null);
    return Reflect.apply(close, this, args);
  };
}

// Promises that take several calls: those behind the first `await` were asked for by the same. Not by what else the caller
// does meanwhile, so its own context stays as it is.
function followPromises(owner, names) {
  for (const name of names) {
    const original = owner[name];
    if (typeof original !== 'function') continue;
    owner[name] = function followed(...args) {
      if (off) return Reflect.apply(original, this, args);
      const text = stackBelow(followed);
      const line = ownLine(text);
      // What follows behind an `await` of node's own has no frame of this function: here it has one, as elsewhere.
      const called = text.replace('\n', `\n    at ${name} (node:internal/fs/promises)\n`);
      const number = isCalled(line) ? numberOf(called) : askedBy(text, line);
      const result = context().run(number, () => Reflect.apply(original, this, args));
      if (name === 'open') result.then(followHandleOnce, () => {});
      return result;
    };
    Object.defineProperty(owner[name], 'name', { value: name });
  }
}

let handles = false;

function followHandleOnce(handle) {
  if (!handles) followPromises(Object.getPrototypeOf(handle), ['writeFile', 'appendFile']);
  handles = true;
}

// A stream of a file opens and writes later: what it does then was asked for by who wrote to it last.
function followFileStreams() {
  const create = fs.createWriteStream;
  fs.createWriteStream = function createWriteStream(...args) {
    if (off) return Reflect.apply(create, this, args);
    const text = stackBelow(createWriteStream);
    const line = ownLine(text);
    const number = isCalled(line) ? numberOf(text) : askedBy(text, line);
    const stream = context().run(number, () => Reflect.apply(create, this, args));
    stream[ASKED] = number;
    return stream;
  };
  const prototype = fs.WriteStream.prototype;
  for (const name of ['write', 'end']) {
    const original = prototype[name];
    prototype[name] = function followed(...args) {
      if (!off) {
        const text = stackBelow(followed);
        if (isCalled(ownLine(text))) this[ASKED] = numberOf(text);
      }
      return Reflect.apply(original, this, args);
    };
  }
  for (const name of ['_write', '_writev']) {
    const original = prototype[name];
    if (typeof original !== 'function') continue;
    prototype[name] = function followed(...args) {
      if (off || !this[ASKED]) return Reflect.apply(original, this, args);
      return context().run(this[ASKED], () => Reflect.apply(original, this, args));
    };
  }
  require('module').syncBuiltinESMExports();
}

function start() {
  const quiet = process.noDeprecation;
  process.noDeprecation = true; // the program did not ask for these bindings
  try {
    const binding = process.binding('fs');
    const Request = binding.FSReqCallback;
    if (typeof binding.writeBuffer !== 'function' || typeof Request !== 'function')
      throw new Error('its file functions are not where they were in versions that powercut knows');
    sendBuffer(slot.subarray(0, 32));
    if (off) return;
    for (const [name, keysOf] of Object.entries(KEYS)) follow(binding, name, keysOf, Request);
    for (const name of ONLY_CONTEXT) follow(binding, name, noKeys, Request);
    if (binding.FileHandle) followHandles(binding.FileHandle);
    followStreams();
    followPromises(fs.promises, ['open', 'writeFile', 'appendFile', 'truncate', 'rm', 'cp', 'mkdtemp']);
    followFileStreams();
    send('H', Buffer.from(`node\0${process.version}`));
  } catch (error) {
    const why = error.code === 'ERR_ACCESS_DENIED' ? 'its permission model hides what makes them known' : error.message;
    send('N', Buffer.from(`lines of JavaScript are missing: node ${process.version} cannot be followed (${why})`));
    send('H', Buffer.from(`node\0${process.version}`)); // heard, so that nobody says it again
    off = true;
  } finally {
    process.noDeprecation = quiet;
  }
}

start();
