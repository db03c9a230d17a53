// The end of a turn: what happened since the last one, as flat text; and the door itself.

const NO_NOTES = '{"logs":[],"lost":0,"progress":[],"warnings":[],"flooded":0}';

const takeNotes = () => {
  if (console.count + console.lost + progressCount + warningCount + flooded === 0) return NO_NOTES;
  const text = join(
    [
      '{"logs":[', join(console.lines, ','), '],"lost":', console.lost, ',"progress":[', join(progress, ','),
      '],"warnings":[', join(warnings, ','), '],"flooded":', flooded, '}',
    ],
    '',
  );
  console.lines = list();
  console.count = console.lost = flooded = 0;
  progress = list();
  warnings = list();
  progressCount = warningCount = 0;
  return text;
};

const heldText = (onlyNew) => {
  if (firstQueued === null) return '';
  const out = list();
  let count = 0;
  for (let entry = firstQueued; entry !== null; entry = entry.next) {
    if (onlyNew && entry.id <= announced) continue;
    out[count++] = jsonList(entry.id, entry.method, entry.line);
    if (onlyNew) announced = entry.id;
  }
  return join(out, ',');
};

// At least one call goes out, then as many as fit one frame; the rest wait here and are announced.
const turn = (wakeAt) => {
  const out = list();
  let count = 0;
  let bytes = 0;
  while (firstQueued !== null && (count === 0 || bytes + firstQueued.json.length <= TURN_BYTES)) {
    const entry = firstQueued;
    firstQueued = entry.next;
    if (firstQueued === null) lastQueued = null;
    bytes += entry.json.length;
    out[count++] = entry.json;
    entry.json = null;
    mapSet(inFlight, entry.id, entry);
  }
  const held = heldText(true);
  const wake = wakeAt === null ? 'null' : wakeAt > now ? wakeAt - now : 0;
  return join(['T{"calls":[', join(out, ','), '],"held":[', held, '],"wake":', wake, ',"notes":', takeNotes(), '}'], '');
};

const end = (valueText) => {
  const ids = list();
  let count = 0;
  mapForEach(inFlight, (entry, id) => {
    ids[count++] = id;
  });
  const ok = failed === null;
  return join(
    [
      'D{"ok":', ok ? 'true' : 'false', ',"value":', ok ? valueText : 'null', ',"error":', ok ? 'null' : JSONStringify(failed),
      ',"open":[', join(ids, ','), '],"held":[', heldText(false), '],"notes":', takeNotes(), '}',
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
    if (count < 64) found[count++] = { __proto__: null, code, message, path };
  };
  let text;
  try {
    const { value_bytes, max_nodes, max_depth } = limits;
    text = new Encoder('value', value_bytes, max_nodes, max_depth, lossy, promisesInResult).text(result);
  } catch (error) {
    phase = 'failed';
    failed = error instanceof Crossing ? failure('output', `the returned value ${error.message}`) : describe(error);
    return end(null);
  }
  if (watchPromises()) return 'P';
  for (let i = 0; i < count; i++) warn(found[i].code, found[i].message, found[i].path);
  return end(text);
};

const take = () => {
  if (phase === 'failed') return end(null);
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
  return end(null);
};

const enter = (op, text) => {
  if (op === 4) return take();
  if (op === 2) settle(text, false);
  else if (op === 3) settle(text, true);
  else if (op === 0) setup(text);
  else begin();
  return '';
};
return enter;
