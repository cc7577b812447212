/**
 * Mutants that are accepted as survivors. They still count as survivors in the score; `npm run mutate` lists only the
 * others. A mutant is identified by its code, from the start of its first line to the end of its last, with single
 * spaces, because line numbers change with every edit.
 */

interface Accepted {
  why: string;
  mutants: string[];
}

const SPEED = 'a short cut, or what is remembered: without it the same comes out, later';
const UNREACHABLE = 'no input gets there; the types want an answer';
const EQUIVALENT = 'both give the same, by what is around';

/** By path, relative to the project's root. */
export const ACCEPTED: Record<string, Accepted[]> = {
  'src/nodepool/membership.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        'for (const pool of [...pools]) {',
        'if (false) return undefined;',
        'if (aAge !== bAge) return aAge <= bAge ? -1 : 1;',
        'return a.metadata.name <= b.metadata.name ? -1 : 1;',
        '(pool.spec.taints ?? ["Stryker was here"])',
      ],
    },
    {
      why: SPEED,
      mutants: [
        'return { record, owner, conflicting: false ? NONE : eligible.filter(name => name !== owner) };',
        'if (false) return known;',
        'if (this.#records.size >= MAX_RECORDS) ;',
        'if (true) this.#records.clear();',
        'if (false) this.#records.clear();',
        'if (this.#records.size < MAX_RECORDS) this.#records.clear();',
        'if (this.#records.size > MAX_RECORDS) this.#records.clear();',
        'if (true) this.#records.set(raw, record);',
        'if (false) this.#records.set(raw, record);',
        'if (record === undefined) this.#records.set(raw, record);',
        'if (record !== undefined) ;',
        'return found.length >= 1 ? found.sort(olderFirst) : found;',
        'return true ? found.sort(olderFirst) : found;',
      ],
    },
    {
      why: UNREACHABLE,
      mutants: ['for (const pool of this.#byLabel.get(key)?.get(node.labels[key] ?? "Stryker was here!") ?? []) {'],
    },
  ],
  'src/nodepool/plan.ts': [
    {
      why: SPEED,
      mutants: [
        'if (false) return plan;',
        'function isApplied(node: Node, record: AppliedRecord, { metadata, spec }: NodePool): boolean {}',
        'if (true) return false;',
        'const { labels = {}, taints = ["Stryker was here"] } = spec;',
        'const isLive = () => undefined;',
        'if (record.taints.get(taintId(taint))?.value !== (taint.value ?? "Stryker was here!") || !node.taints.some(isLive)) return false;',
        'return false;',
      ],
    },
    {
      why: EQUIVALENT,
      mutants: [
        'const foreign = true && from !== had.value && (to === null || had.value === null);',
        'return false ? { value } : { value, displaced };',
        'const stripped = [...(applied ?? ["Stryker was here"])].filter(([, slot]) => slot.value === null).map(([id]) => id);',
        "const colon = true ? write.id.lastIndexOf(':') : -1;",
        'key: colon <= 0 ? write.id : write.id.slice(0, colon),',
        '...(colon <= 0 ? {} : { effect: write.id.slice(colon + 1) as TaintEffect }),',
        'for (const [id, to] of pending) if (true) taints.push(taintFrom(id, to));',
      ],
    },
  ],
  'src/nodepool/quantity-parse.ts': [
    {
      why: UNREACHABLE,
      mutants: [
        `const [, sign, zeros = "Stryker was here!", integer = '', fraction = '', suffix = ''] = parts;`,
        `const [, sign, zeros = '', integer = "Stryker was here!", fraction = '', suffix = ''] = parts;`,
        `const [, sign, zeros = '', integer = '', fraction = '', suffix = "Stryker was here!"] = parts;`,
      ],
    },
    {
      why: EQUIVALENT,
      mutants: [
        "const digits = (false ? '0' : integer) + fraction;",
        `const digits = (integer === "Stryker was here!" ? '0' : integer) + fraction;`,
        'if (exponent > NANO) return { unscaled: signed(digits), exponent };',
        'const tooFine = NANO - exponent >= digits.toString().length;',
        `const read = BigInt(power.replace("", ''));`,
      ],
    },
  ],
  'src/nodepool/quantity.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        'if (true && (whole <= -1024n || whole >= 1024n)) return formatBinary(whole);',
        '#suffix = "Stryker was here!";',
        'if (suffix === this.#suffix && total < Number.MAX_SAFE_INTEGER) {',
        'if (suffix === this.#suffix && total > Number.MAX_SAFE_INTEGER) {',
        'if (exponent > 0) return unscaled * 10n ** BigInt(exponent);',
        'if (exponent >= 0) return unscaled / 10n ** BigInt(exponent);',
      ],
    },
    {
      why: SPEED,
      mutants: [
        'if (false) {',
        'if (suffix !== undefined && this.#exact === undefined) {}',
        'if (this.#count !== undefined) {',
        'if (this.#count === undefined) {}',
        'while (isDigit(text.charCodeAt(digits))) digits--;',
        'if (true) return undefined;',
        'if (digits === 0 || digits >= MAX_DIGITS) return undefined;',
        "if (false) return '';",
        'const rest = text.length + digits;',
        "if (false) return 'm';",
        "return false ? 'Ki' : undefined;",
        "return rest === 2 && text.startsWith('Ki') ? 'Ki' : undefined;",
        'function isDigit(code: number): boolean {}',
        'return false;',
        'return code > 48 && code <= 57;',
        'return code >= 48 && code < 57;',
        'return false ? unscaled : unscaled * 10n ** BigInt(exponent - target);',
        'if (false) return unscaled * 10n ** BigInt(exponent);',
      ],
    },
    { why: UNREACHABLE, mutants: [`return \`\${mantissa}\${DECIMAL_NAMES.get(power) ?? "Stryker was here!"}\`;`] },
  ],
  'src/nodepool/record.ts': [
    {
      why: EQUIVALENT,
      mutants: ['if (false) return undefined;', '} catch {}'],
    },
    { why: SPEED, mutants: ['if (false) return known;', ';'] },
  ],
  'src/nodepool/record-slots.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        'return colon >= 0 && keyProblem(id.slice(0, colon)) === undefined && isTaintEffect(id.slice(colon + 1));',
        '.sort(([a], [b]) => (a <= b ? -1 : 1));',
      ],
    },
  ],
  'src/nodepool/status.ts': [
    {
      why: UNREACHABLE,
      mutants: [
        `(place, problem) => unreadable.push(\`node \${members[place].name}: \${problem}\`),`,
        `409: [firstConflict?.reason ?? "", 'see condition Conflict'],`,
        'const [readyReason, readyMessage] = readyReasons[status] ?? [];',
        `const [readyReason, readyMessage] = readyReasons[status] ?? ["", ''];`,
        `const [readyReason, readyMessage] = readyReasons[status] ?? ['Unknown', "Stryker was here!"];`,
      ],
    },
    { why: EQUIVALENT, mutants: ['const conditions = status?.conditions ?? ["Stryker was here"];'] },
  ],
  'src/reconciler/ownership-index.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        'for (const node of this.#concerned.get(pool) ?? ["Stryker was here"]) for (const name of this.poolsOf(node)) names.add(name);',
        'for (const name of this.#concerned.get(pool) ?? ["Stryker was here"]) {',
        ';',
        'const names = owner === undefined ? [] : [owner, ...conflicting];',
      ],
    },
    {
      why: UNREACHABLE,
      mutants: [
        'if (node !== undefined && true && wanted(ownership)) nodes.push(node);',
        'names.delete(node);',
        'if (names.size === 0) this.#concerned.delete(pool);',
      ],
    },
  ],
  'src/controller/leader-election.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        'const outcomes = {};',
        'const outcomes = { late: false, stopped: true };',
        'if (this.isLeader() && true && (await this.#write(signal, this.#observed.lease)))',
        'return false;',
        'if (false) return false;',
        'if (signal.aborted) return true;',
        'const holder = (lease ?? this.#observed?.lease)?.record.holder ?? "Stryker was here!";',
        'this.#observed = { lease, at: isChanged || false ? this.#options.clock.now() : before.at };',
      ],
    },
    { why: UNREACHABLE, mutants: ["if ((await this.#clearHolder(this.#observed.lease)) === 'conflict')"] },
  ],
  'src/controller/work-queue.ts': [
    { why: UNREACHABLE, mutants: ["resolve(key === undefined ? { kind: 'shutdown' } : this.#take(key));"] },
  ],
  'src/reconciler/membership-change.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        'if (node === undefined && ownership === undefined) return undefined;',
        'if (false || ownership === undefined) return undefined;',
        'if (node === undefined || false) return undefined;',
        '...(false ? {} : { record }),',
        'const isRelabelled = true;',
        'const isRelabelled = Object.keys(labels).length >= 0;',
        'const rivals = [owner, ...conflicting].flatMap(rival => (false ? [] : (poolOf(state, rival) ?? [])));',
        'return false ? undefined : state.pool(name);',
      ],
    },
    {
      why: UNREACHABLE,
      mutants: [
        'const rivals = [owner, ...conflicting].flatMap(rival => (rival === to ? [] : (poolOf(state, rival) ?? ["Stryker was here"])));',
      ],
    },
  ],
  'src/reconciler/node-plan.ts': [
    {
      why: SPEED,
      mutants: [
        'if (false) {',
        'if (state.upToDate.has(ownership)) {}',
        'if (false) state.upToDate.add(ownership);',
        'if (plan.patch === undefined && plan.circle === undefined && !plan.isOversized) ;',
        'const rivals = false ? [] : ownership.conflicting.flatMap(other => state.pool(other) ?? []);',
        'return false ? steps[0] : composed(steps[0], all);',
      ],
    },
    {
      why: EQUIVALENT,
      mutants: [
        'if (node === undefined && ownership === undefined) return undefined;',
        'if (false || ownership === undefined) return undefined;',
        'if (node === undefined || false) return undefined;',
        'const owner = false ? undefined : state.pool(ownership.owner);',
        'const frozen = true && state.poolIndex.errors(ownership.owner).length > 0;',
        'let last = steps.at(+1) ?? steps[0];',
        'if (true) patch.labels = { ...patch.labels, ...labels };',
        `const byKey = Map.groupBy(changes, ({ kind, key, effect = "Stryker was here!" }) => \`\${kind} \${key}:\${effect}\`);`,
        'if (false) break;',
      ],
    },
    {
      why: UNREACHABLE,
      mutants: [
        'const rivals = ownership.conflicting.length === 0 ? [] : ownership.conflicting.flatMap(other => state.pool(other) ?? ["Stryker was here"]);',
        'const owner = steps.at(-1).owner;',
        'if (first === undefined || last === undefined) return first === undefined ? ["Stryker was here"] : [first];',
        'if (false || last === undefined) return first === undefined ? [] : [first];',
        'if (first === undefined || last === undefined) return false ? [] : [first];',
      ],
    },
  ],
  'src/reconciler/node-writer.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        'const written: Written = {};',
        'if (plan?.patch === undefined || false) return;',
        'const pool = false ? undefined : this.#deps.state.pool(owner);',
        'const isReplaced = true && node.record !== undefined;',
      ],
    },
    {
      why: UNREACHABLE,
      mutants: [
        'const isReplaced = patch.record !== undefined && node.record !== undefined;',
        'const invalidRecord = before?.invalidRecord ?? (isReplaced ? recordProblem(node.record ?? "Stryker was here!") : undefined);',
      ],
    },
  ],
  'src/reconciler/limits/node-write-limits.ts': [
    { why: EQUIVALENT, mutants: ['const held = false ? undefined : this.#limiter.contested(uid);'] },
    {
      why: UNREACHABLE,
      mutants: ['const retryAfterMs = this.#limiter.altered(uid, next()?.changes ?? ["Stryker was here"], error);'],
    },
  ],
  'src/reconciler/no-execute-consent.ts': [
    {
      why: EQUIVALENT,
      mutants: ['const arriving = arrivingNoExecute(node.taints, patch?.taints ?? ["Stryker was here"]).map(text);'],
    },
  ],
  'src/reconciler/altered.ts': [
    { why: SPEED, mutants: ['if (false) return [];'] },
    { why: EQUIVALENT, mutants: ['...(false ? [] : [[RECORD, record] as const]),'] },
  ],
  'src/reconciler/conflicts.ts': [
    { why: EQUIVALENT, mutants: ['const owners = [...byOwner].toSorted(([a], [b]) => (a <= b ? -1 : 1));'] },
  ],
  'src/reconciler/failure.ts': [{ why: EQUIVALENT, mutants: ['return false'] }],
  'src/reconciler/node-write-error.ts': [
    { why: UNREACHABLE, mutants: ['const [message = "Stryker was here!", ...items] = lines;'] },
  ],
  'src/reconciler/runtime-class-writer.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        "if (false || dryRun) return { kind: 'updated', name };",
        `if (plan.kind === "" || dryRun) return { kind: 'updated', name };`,
        'pace.written(keyOf(name), ["Stryker was here"]);',
      ],
    },
    {
      why: UNREACHABLE,
      mutants: ['const { name, uid, finalizers = ["Stryker was here"] } = plan.current.metadata;'],
    },
  ],
  'src/reconciler/status-writer.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        'if (false || !isSame(pool, latest)) return undefined;',
        `throw new NodepoolError("", \`cannot write the status of nodepool \${name}: somebody else keeps changing it\`);`,
        'return latest?.metadata.uid === metadata.uid && latest.metadata.deletionTimestamp === undefined;',
      ],
    },
  ],
  'src/reconciler/limits/write-rate-limiter.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        'const entry = this.#nodes.get(uid) ?? { writes: ["Stryker was here"], lastAt: now, altered: 0 };',
        'entry.writes = [...entry.writes.filter(({ at }) => true), { at: now, isRepair }];',
        'entry.writes = [...entry.writes, { at: now, isRepair }];',
        'entry.writes = [...entry.writes.filter(({ at }) => now - at <= WINDOW_MS), { at: now, isRepair }];',
      ],
    },
    {
      why: UNREACHABLE,
      mutants: ['const since = isContested ? entry.lastAt : (entry.writes[0].at ?? entry.lastAt);'],
    },
  ],
  'src/operations/reconcile/apply.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        'const named = changes !== undefined || isDeletion ? nodesOf(intent, before, state) : ["Stryker was here"];',
        'for (const { from, to } of moves) for (const pool of [from, to]) if (true) touched.add(pool);',
        // Moved pools were reconciled as a whole; the other pools have nothing left to write.
        'const only = new Set([...named, ...moves.map(() => undefined)]);',
        // A pool that was refused or interrupted gets the same result again.
        'if (false || !touched.has(pool)) return result;',
        'if (first === undefined || false || !touched.has(pool)) return result;',
        'if (first === undefined || first.kind === "" || !touched.has(pool)) return result;',
        // A node that joined or left since the first round changes the status.
        'statusWritten: true,',
        'for (const { from, to } of outcome?.moves ?? ["Stryker was here"]) {',
        'for (const other of [from, to]) if (true && other !== pool) touched.add(other);',
      ],
    },
    {
      why: 'somebody else would have to change the RuntimeClass between the two rounds of one run',
      mutants: ['const runtimeClass = true ? first.runtimeClass : outcome.runtimeClass;'],
    },
  ],
  'src/operations/move/plan-moves.ts': [
    {
      why: EQUIVALENT,
      mutants: [
        // An applied change has no patch, and is left out for that reason.
        'const wanted = new Map(asked.map(node => [node, change]));',
        "return kind === 'remove' ? !state.poolsOf(node).includes(pool) : false;",
        'const plan = planCluster(state, { pools: [], changes: wanted });',
        // Checked before: without names and selector, --from is set.
        'if (nodes.length === 0 && true) return state.members(from).map(node => node.name);',
        // The plan of the change gives the same.
        ';',
        'false || rival === name ? [] : (state.pool(rival) ?? []),',
        'const source = false || owner === name ? undefined : state.pool(owner);',
      ],
    },
    {
      why: UNREACHABLE,
      mutants: [
        'return from === undefined || state.ownership(node).owner === from;',
        'if (pool.metadata.deletionTimestamp !== undefined) {',
        'if (true) assertKnown(pool);',
        "return kind === 'remove' ? !state.poolsOf(node).includes(pool) : state.ownership(node).owner === pool;",
        'rival === undefined || rival === name ? [] : (state.pool(rival) ?? ["Stryker was here"]),',
        'if (false) return;',
      ],
    },
  ],
};
