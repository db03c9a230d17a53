// The end of a turn: what happened since the last one, as flat text; and the door itself.

const NO_NOTES = '{"logs":[],"lost":0,"progress":[],"warnings":[],"flooded":0}';

const notes = () => {
  if (console.count + console.lost + progressCount + warningCount + flooded === 0) return NO_NOTES;
  return join(
    [
      '{"logs":[', join(console.lines, ','), '],"lost":', console.lost, ',"progress":[', join(progress, ','),
      '],"warnings":[', join(warnings, ','), '],"flooded":', flooded, '}',
    ],
    '',
  );
};

const forgetNotes = () => {
  console.lines = list();
  console.count = console.lost = flooded = 0;
  progress = list();
  warnings = list();
  progressCount = warningCount = 0;
};

// The queued calls from this entry on, of which those up to the id `after` are known to the host.
const heldText = (first, after) => {
  const out = list();
  let count = 0;
  for (let entry = first; entry !== null; entry = entry.next) {
    if (entry.id > after) out[count++] = jsonList(entry.id, entry.method, entry.line);
  }
  return join(out, ',');
};

// At least one call goes out, then as many as fit one frame; the rest wait here and are announced. Nothing is changed
// before the text is whole: the heap may end while it is made, and no call and no note may be lost by that.
const turn = (wakeAt) => {
  const out = list();
  let count = 0;
  let bytes = 0;
  let rest = firstQueued;
  for (; rest !== null && (count === 0 || bytes + rest.json.length <= TURN_BYTES); rest = rest.next) {
    bytes += rest.json.length;
    out[count++] = rest.json;
  }
  const held = heldText(rest, announced);
  const wake = wakeAt === null ? 'null' : wakeAt > now ? wakeAt - now : 0;
  const text = join(['T{"calls":[', join(out, ','), '],"held":[', held, '],"wake":', wake, ',"notes":', notes(), '}'], '');
  for (; firstQueued !== rest; firstQueued = firstQueued.next) {
    mapSet(inFlight, firstQueued.id, firstQueued);
    firstQueued.json = null;
  }
  if (rest === null) lastQueued = null;
  else announced = lastQueued.id;
  forgetNotes();
  return text;
};

// Flat, by itself: JSON.stringify keeps the objects that it walks in an array, and a script can put a setter on those.
const failedText = () => {
  const { kind, name, message, stack, line, column, code } = failed;
  return join(
    [
      '{"kind":', JSONStringify(kind), ',"name":', JSONStringify(name), ',"message":', JSONStringify(message),
      ',"stack":', JSONStringify(stack), ',"line":', JSONStringify(line), ',"column":', JSONStringify(column),
      ',"code":', JSONStringify(code), '}',
    ],
    '',
  );
};

const end = (valueText) => {
  const leftOut = warningsInAll - MAX_WARNINGS;
  if (leftOut > 0) {
    warningsInAll = 0;
    const text = jsonList('warnings_left_out', `${leftOut} further warnings are not listed`, null, null);
    warnings[warningCount++] = text;
  }
  const ids = list();
  let count = 0;
  mapForEach(inFlight, (entry, id) => {
    ids[count++] = id;
  });
  const ok = failed === null;
  return join(
    [
      'D{"ok":', ok ? 'true' : 'false', ',"value":', ok ? valueText : 'null', ',"error":', ok ? 'null' : failedText(),
      ',"open":[', join(ids, ','), '],"held":[', heldText(firstQueued, 0), '],"notes":', notes(), '}',
    ],
    '',
  );
};

const canGoOn = () => firstQueued !== null || mapSize(inFlight) > 0 || firstTimer !== null;

// Watches every promise found in the returned value that is not watched yet; true if there was one.
const watchPromises = () => {
  let any = false;
  mapForEach(promisesInResult, (state, promise) => {
    if (state.watched) return;
    state.watched = any = true;
    try {
      observe(
        promise,
        (value) => {
          state.done = state.ok = true;
          state.value = value;
        },
        () => {
          state.done = true;
        },
      );
    } catch {
      state.done = true;
    }
  });
  return any;
};

const promisesWait = () => {
  let waiting = false;
  mapForEach(promisesInResult, (state) => {
    if (!state.done) waiting = true;
  });
  return waiting;
};

let lastBeforeReturn = 0;
const warnUnawaited = (entry) => {
  warn('missing_await', `ctx.${entry.method} was still running when run returned; put \`await\` before it`, null, entry.line);
};

// `run` has returned. Calls it made and did not await get their chance, within a bound, and are told; so are promises
// inside the returned value. Timers that nothing in the value waits for are dropped.
const finish = () => {
  if (phase === 'returned') {
    phase = 'draining';
    drainUntil = now + DRAIN_MS;
    mapForEach(inFlight, warnUnawaited);
    for (let entry = firstQueued; entry !== null; entry = entry.next) warnUnawaited(entry);
    lastBeforeReturn = lastId;
  }
  const callsOpen = mapSize(inFlight) > 0 || (firstQueued !== null && firstQueued.id <= lastBeforeReturn);
  const waiting = promisesWait();
  if ((callsOpen || (waiting && canGoOn())) && now < drainUntil) {
    return turn(waiting && firstTimer !== null && firstTimer.due < drainUntil ? firstTimer.due : drainUntil);
  }
  const found = list();
  let count = 0;
  const lossy = (code, message, path) => {
    if (count < MAX_WARNINGS) found[count] = { __proto__: null, code, message, path };
    count++;
  };
  let text;
  try {
    const { value_bytes, max_nodes, max_depth } = limits;
    text = new Encoder('value', value_bytes, max_nodes, max_depth, lossy, promisesInResult).text(result);
  } catch (error) {
    phase = 'failed';
    failed = Crossing.is(error) ? failure('output', `the returned value ${error.message}`) : describe(error);
    return 'P';
  }
  if (watchPromises()) return 'P';
  for (let i = 0; i < count && i < MAX_WARNINGS; i++) warn(found[i].code, found[i].message, found[i].path);
  if (count > MAX_WARNINGS) warningsInAll += count - MAX_WARNINGS;
  return end(text);
};

// The engine ends a script whose heap is full by null if there is no room for an Error, or by not going on at all.
const endFailed = (heapWasFull) => {
  const { kind, message } = failed;
  if (heapWasFull && (kind === 'stalled' || (kind === 'script' && message === THREW_NULL))) failed = failure('memory', 'out of memory');
  return end(null);
};

const take = (heapWasFull) => {
  if (phase === 'failed') return endFailed(heapWasFull);
  if (phase === 'running' || phase === 'loading' || promisesWait()) {
    try {
      if (fireTimer()) return 'P';
    } catch (error) {
      fail(error);
      return 'P';
    }
  }
  if (phase === 'returned' || phase === 'draining') return finish();
  if (canGoOn()) return turn(firstTimer === null ? null : firstTimer.due);
  phase = 'failed';
  failed = failure('stalled', 'the script waits for a promise that nothing can settle');
  return endFailed(heapWasFull);
};

// The engine has ended the script, and nothing of it runs any more: what it did before is told nevertheless.
const cutShort = (text) => {
  phase = 'failed';
  failed = JSONParse(text);
  return end(null);
};

const act = (op, text) => {
  if (op === 4) return take(text === 'full');
  if (op === 5) return cutShort(text);
  if (op === 2) settle(text, false);
  else if (op === 3) settle(text, true);
  else if (op === 0) setup(text);
  else begin();
  return '';
};

// Nothing that the script has thrown leaves here as an object, whatever way it took.
const enter = (op, text) => {
  try {
    return act(op, text);
  } catch (thrown) {
    if (op === 4 && phase === 'failed') throw thrown; // the heap has no room for the end: the worker gives it some
    phase = 'failed';
    failed = describe(thrown);
    return op === 4 ? 'P' : '';
  }
};
return enter;
