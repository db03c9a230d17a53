// Timers on the virtual clock. A timer is due when the host says that its time has come; between turns nothing fires.
// The least delay is 1 ms, so that a script which polls with setTimeout(f, 0) gives the host a turn to answer its calls.

const MAX_TIMERS = 1000;
const LONGEST_MS = 2 ** 31 - 1;
let firstTimer = null;
let timerCount = 0;
let lastTimer = 0;

const addTimer = (callback, delay, args, every) => {
  if (typeof callback !== 'function') throw new TypeError('a timer needs a function');
  if (timerCount >= MAX_TIMERS) throw new RangeError(`more than ${MAX_TIMERS} timers are pending`);
  let ms = typeof delay === 'number' ? delay : +delay;
  if (!(ms >= 1)) ms = 1;
  if (ms > LONGEST_MS) ms = LONGEST_MS;
  const timer = { __proto__: null, id: ++lastTimer, due: now + ms, callback, args, every: every ? ms : 0, next: null };
  insertTimer(timer);
  return timer.id;
};

const insertTimer = (timer) => {
  timerCount++;
  if (firstTimer === null || timer.due < firstTimer.due) {
    timer.next = firstTimer;
    firstTimer = timer;
    return;
  }
  let at = firstTimer;
  while (at.next !== null && at.next.due <= timer.due) at = at.next;
  timer.next = at.next;
  at.next = timer;
};

const clearTimer = (id) => {
  let before = null;
  for (let at = firstTimer; at !== null; before = at, at = at.next) {
    if (at.id !== id) continue;
    if (before === null) firstTimer = at.next;
    else before.next = at.next;
    timerCount--;
    return;
  }
};

// Fires one due timer; false if none is due. A throw ends the program, as it does elsewhere.
const fireTimer = () => {
  const timer = firstTimer;
  if (timer === null || timer.due > now) return false;
  firstTimer = timer.next;
  timerCount--;
  if (timer.every > 0) {
    timer.due = now + timer.every;
    insertTimer(timer);
  }
  ReflectApply(timer.callback, undefined, timer.args);
  return true;
};

// The engine's own would hand what the callback throws to the worker as an object.
const settled = NativePromise.resolve();
define(globalThis, 'queueMicrotask', (callback) => {
  if (typeof callback !== 'function') throw new TypeError('queueMicrotask needs a function');
  observe(settled, () => {
    try {
      ReflectApply(callback, undefined, []);
    } catch (error) {
      fail(error);
    }
  });
});
define(globalThis, 'setTimeout', (callback, delay = 0, ...args) => addTimer(callback, delay, args, false));
define(globalThis, 'setInterval', (callback, delay = 0, ...args) => addTimer(callback, delay, args, true));
define(globalThis, 'setImmediate', (callback, ...args) => addTimer(callback, 0, args, false));
define(globalThis, 'clearTimeout', clearTimer);
define(globalThis, 'clearInterval', clearTimer);
define(globalThis, 'clearImmediate', clearTimer);
