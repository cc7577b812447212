/** Nodes of a rollout, for tests of its step. */
import { type RolloutNode, type RolloutTimes, rolloutStep } from '../../../../src/nodepool/rollout/rollout-step.ts';
import type { RolloutStrategy } from '../../../../src/nodepool/types.ts';

export const NOW = Date.parse('2026-05-01T12:00:00Z');
export const ago = (seconds: number) => NOW - seconds * 1000;
export const LONG_AGO = ago(1e6);
const TIMES: RolloutTimes = { now: NOW, resumed: undefined, wasComplete: false, stopped: undefined };

export const node = (name: string, more: Partial<RolloutNode> = {}): RolloutNode => ({
  name,
  ready: true,
  readySince: LONG_AGO,
  changed: undefined,
  wasNotReady: false,
  isRefused: false,
  isOfThis: more.changed !== undefined && more.isPending !== true,
  isPending: false,
  ...more,
});
export const pending = (name: string, more: Partial<RolloutNode> = {}) => node(name, { isPending: true, ...more });
export const done = (name: string, secondsAgo: number, more: Partial<RolloutNode> = {}) =>
  node(name, { changed: ago(secondsAgo), ...more });
export const broken = (name: string, changed: number, since: number, more: Partial<RolloutNode> = {}) =>
  node(name, { changed: ago(changed), ready: false, readySince: ago(since), ...more });
export const step = (nodes: RolloutNode[], strategy: RolloutStrategy = {}, times: Partial<RolloutTimes> = {}) =>
  rolloutStep(nodes, strategy, { ...TIMES, ...times });
export const many = (count: number, make: (name: string) => RolloutNode, from = 0) =>
  Array.from({ length: count }, (_, at) => make(`n${String(at + from).padStart(4, '0')}`));
