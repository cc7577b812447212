/** The dashboard on a terminal: Ink draws and reads keys; the logic is in state.ts and screen.ts. */
import type { Readable, Writable } from 'node:stream';
import { Box, render, Text, useInput, usePaste } from 'ink';
import { createElement as h } from 'react';
import type { CordonResult } from '../commands/shared/cordon/cordon.ts';
import { cordonLine } from '../commands/shared/cordon/print-cordon.ts';
import type { Clock } from '../controller/clock.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { formatError } from '../print/error.ts';
import type { Style } from '../print/style.ts';
import { contentsOf, type ScreenContents, screenDataOf } from './contents.ts';
import { clampSelection, type Key, keysOf } from './keys.ts';
import {
  type CordonTarget,
  initialState,
  type KeyEffect,
  placeOf,
  READ_KINDS,
  type ReadPlace,
  type TerminalCommand,
  type ViewState,
} from './places.ts';
import { pageOf, type ScreenSize, screenLines } from './screen.ts';
import { paste, press, withMessage, withText } from './state.ts';
import type { LiveView } from './view.ts';
import type { LiveUsage, UsagePoll } from './view-usage.ts';

export interface RunOptions {
  stdin: Readable;
  stdout: Writable;
  live: LiveView;
  clusterName: string;
  clock: Clock;
  now: () => Date;
  style: Style;
  /** The initial state; undefined shows the pools. */
  state: ViewState | undefined;
  usage: UsagePoll;
  /** @param askedAt when the question was shown @returns the node's result, and a warning, e.g. about the status */
  cordon(target: CordonTarget, askedAt: Date): Promise<{ result: CordonResult; warning: string | undefined }>;
  /** The text of a place, fitted to this width. Rejects with a NodepoolError. */
  read(place: ReadPlace, width: number): Promise<string>;
}

/** Why it ended, and how to resume. */
export interface ViewEnd {
  state: ViewState;
  /** The command to run on the restored terminal. */
  command: TerminalCommand | undefined;
  /** Results of writes that were in flight when the screen closed. */
  late: readonly { text: string; isError: boolean }[];
}

export interface RunningView {
  /** Schedules a redraw after a change in the cluster; at most one per REDRAW_MS. */
  changed(): void;
  stop(): void;
  /** Resolves when the terminal is restored and no write is in flight; rejects on a rendering error. */
  ended: Promise<ViewEnd>;
}

/** Minimum intervals of redraws: after changes in the cluster, and for ages. */
const [REDRAW_MS, TICK_MS] = [250, 1_000];
const FRAMES_PER_SECOND = 30;

/** Takes over the terminal until stop(). */
export function runView(options: RunOptions): RunningView {
  const { live, clock, now, style, usage } = options;
  const stdout = options.stdout as NodeJS.WriteStream;
  const stdin = options.stdin as NodeJS.ReadStream;
  let state = options.state ?? initialState;
  let command: TerminalCommand | undefined;
  let isStopped = false;
  /** When the question about a node was shown. */
  let askedAt = now();
  /** Writes of nodes in flight at the end. */
  const writes = new Set<Promise<ViewEnd['late'][number]>>();
  let cached: { key: readonly unknown[]; contents: ScreenContents } | undefined;
  let cancelDraw: (() => void) | undefined;
  /** Places whose text is being read; these are not requested again. */
  const reading = new Set<string>();

  const size = (): ScreenSize => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });

  /** Computes rows only after a change, not when a key moves the cursor. */
  function contents(): ScreenContents {
    const { kind, pool, subject, sort, filter, text } = placeOf(state);
    const { columns } = size();
    const shown = shownUsage();
    const hasAges = kind === 'node' || kind === 'event';
    const settles = cached?.contents.kind === 'list' && cached.contents.isProgressing === true;
    const second = hasAges || settles ? Math.floor(now().getTime() / TICK_MS) : 0;
    const versions = [live.version(), shown && usage.version()];
    // Compared one by one: joining them would copy the text of a large object for each key.
    const key = [...versions, kind, pool, subject, sort, filter, text, columns, second];
    if (cached === undefined || key.some((part, i) => part !== cached?.key[i]))
      cached = { key, contents: contentsOf(placeOf(state), live, { width: columns, now: now(), style, usage: shown }) };
    return cached.contents;
  }

  function shownUsage(): LiveUsage | undefined {
    const { kind } = placeOf(state);
    return state.usage && (kind === 'pools' || kind === 'nodes') ? usage.current() : undefined;
  }

  const screen = () => screenDataOf(contents(), pageOf(state, size()), live);

  function element() {
    usage.setShown(shownUsage() !== undefined);
    state = clampSelection(state, screen());
    const { clusterName } = options;
    const facts = { clusterName, live, usage: shownUsage(), names: screen().names, now: now(), style };
    return h(Screen, { lines: screenLines(state, contents(), size(), facts), onKeys, onPaste });
  }

  function draw(): void {
    cancelDraw?.();
    cancelDraw = undefined;
    if (isStopped) return;
    instance.rerender(element());
  }

  function onKeys(keys: Key[]): void {
    for (const key of keys) {
      const before = state.mode.kind;
      const { state: next, effect } = press(state, key, screen());
      state = next;
      if (state.mode.kind === 'confirm' && before !== 'confirm') {
        askedAt = now();
        // Keys of the same input were typed before the question was visible, so none of them is an answer.
        break;
      }
      // The next key of the same input applies to the new place.
      state = clampSelection(state, screen());
      if (effect !== undefined) run(effect);
      if (isStopped) return;
    }
    draw();
  }

  function onPaste(text: string): void {
    state = paste(state, text);
    draw();
  }

  function run(effect: KeyEffect): void {
    if (effect.kind === 'redraw') instance.clear();
    else if (effect.kind === 'cordon') cordon(effect.target);
    else if (effect.kind === 'read') read(effect.place);
    else {
      command = effect.kind === 'quit' ? undefined : effect;
      running.stop();
    }
  }

  function read(place: ReadPlace): void {
    const key = JSON.stringify([place.kind, place.pool, place.subject]);
    if (reading.has(key)) return;
    reading.add(key);
    const show = (text: string) => {
      reading.delete(key);
      state = withText(state, place, text);
      draw();
    };
    // Another rejection is a bug and ends the program as an unhandled one.
    void options.read(place, size().columns).then(show, (error: unknown) => {
      if (!(error instanceof NodepoolError)) throw error;
      show(formatError(error.lines, error.next));
    });
  }

  function cordon(target: CordonTarget): void {
    const { node, unschedulable } = target;
    state = withMessage(state, `${unschedulable ? 'Cordoning' : 'Uncordoning'} node ${node.name} …`);
    // A rejection is a bug and ends the program as an unhandled one.
    const write = options.cordon(target, askedAt).then(({ result, warning }) => {
      const line = cordonLine(result, unschedulable, '');
      const isError = line.to === 'error';
      const told = line.to === 'error' ? formatError([line.message], line.next) : line.text;
      const text = warning === undefined ? told : `${told}; ${warning}`;
      state = withMessage(state, text, isError);
      if (!isStopped) writes.delete(write);
      draw();
      return { text, isError };
    });
    writes.add(write);
  }

  // Ink does this only after its first frame: earlier keys would be echoed into it.
  stdin.setRawMode(true);
  // Before Ink's own listener, which would draw the old screen in the new size.
  stdout.on('resize', draw);
  const instance = render(element(), {
    stdin,
    stdout,
    alternateScreen: true,
    interactive: true,
    incrementalRendering: true,
    maxFps: FRAMES_PER_SECOND,
    exitOnCtrlC: false,
    patchConsole: false,
    isScreenReaderEnabled: false,
  });
  let cancelTick = () => {};
  const tick = () => {
    cancelTick = clock.after(TICK_MS, () => {
      draw();
      tick();
    });
  };
  tick();
  // A text from before a command may be outdated or incomplete.
  const { kind, pool, subject } = placeOf(state);
  const shown = READ_KINDS.find(each => each === kind);
  if (shown !== undefined) read({ kind: shown, pool, subject });

  const running: RunningView = {
    changed() {
      cancelDraw ??= clock.after(REDRAW_MS, draw);
    },
    stop() {
      isStopped = true;
      usage.setShown(false);
      cancelTick();
      cancelDraw?.();
      stdout.off('resize', draw);
      instance.unmount();
    },
    ended: instance
      .waitUntilExit()
      .finally(() => stdin.setRawMode(false))
      .then(async () => {
        const late = await Promise.all(writes);
        return { state, command, late };
      }),
  };
  return running;
}

interface ScreenProps {
  lines: string[];
  onKeys: (keys: Key[]) => void;
  onPaste: (text: string) => void;
}

function Screen({ lines, onKeys, onPaste }: ScreenProps) {
  useInput((input, key) => onKeys(keysOf(input, key)));
  usePaste(onPaste);
  // Lines already fit; an empty one needs a space to have a height.
  const texts = lines.map((line, i) => h(Text, { key: i, wrap: 'truncate' }, line || ' '));
  return h(Box, { flexDirection: 'column', height: lines.length, overflow: 'hidden' }, texts);
}
