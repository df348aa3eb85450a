import type { Attempt, Change, Histories, Story, Version } from "./history.ts";

/**
 * Compares the answers that clients received with `truth`, all changes in the order of the store. Returns
 * every violation: an acknowledged write that is missing, a refused one that is stored, a lost update, a
 * repeated revision, a stale read, a watcher that missed, repeated or reordered an event.
 */
export function check(histories: Histories, truth: readonly Change[]): string[] {
  return [
    ...checkRevisions(truth),
    ...checkAttempts(histories.attempts, truth),
    ...checkReads(histories, truth),
    ...histories.watchers.flatMap((stories, watcher) => checkStories(stories, truth, watcher)),
  ];
}

function checkRevisions(truth: readonly Change[]): string[] {
  return truth.flatMap(({ name, revision }, index) =>
    index > 0 && truth[index - 1]!.revision >= revision
      ? [`revision ${revision} of ${name} does not come after ${truth[index - 1]!.revision}`]
      : [],
  );
}

function checkAttempts(attempts: readonly Attempt[], truth: readonly Change[]): string[] {
  const wrong: string[] = [];
  const byRevision = new Map(truth.map((change) => [change.revision, change]));
  /** The change before each change of the same object. */
  const before = new Map<Change, Change>();
  /** The change that replaced each change of an object. */
  const after = new Map<string, Change>();
  const newest = new Map<string, Change>();
  for (const change of truth) {
    const previous = newest.get(change.name);
    if (previous) {
      before.set(change, previous);
      after.set(`${change.name} ${previous.revision}`, change);
    }
    newest.set(change.name, change);
  }
  const written = new Map<string, number>();
  for (const { value } of truth) if (value !== undefined) written.set(value, (written.get(value) ?? 0) + 1);
  const revisions = new Set<number>();
  for (const attempt of attempts) {
    const { client, verb, name, value, expected, outcome, revision } = attempt;
    const shown = `${client}: ${verb} of ${name} (${value}) on revision ${expected}`;
    const times = written.get(value) ?? 0;
    written.delete(value);
    if (times > 1) wrong.push(`${shown} was done ${times} times`);
    if (outcome === "refused" && times > 0) wrong.push(`${shown} was refused and done`);
    if (outcome !== "done") continue;
    if (verb === "delete") {
      if (after.get(`${name} ${expected}`)?.type !== "delete")
        wrong.push(`${shown} was acknowledged and is lost`);
      continue;
    }
    if (revisions.has(revision!)) wrong.push(`revision ${revision} was given twice, last to ${shown}`);
    revisions.add(revision!);
    const change = byRevision.get(revision!);
    if (change?.name !== name || change.value !== value) {
      wrong.push(`${shown} was acknowledged at ${revision} and is lost: there is ${JSON.stringify(change)}`);
      continue;
    }
    const previous = before.get(change);
    const on = previous?.type === "put" ? previous.revision : 0;
    if (on !== expected) wrong.push(`${shown} was done on revision ${on}`);
  }
  for (const value of written.keys()) wrong.push(`${value} is there, and nobody wrote it`);
  return wrong;
}

function checkReads({ reads }: Histories, truth: readonly Change[]): string[] {
  const byRevision = new Map(truth.map((change) => [change.revision, change]));
  return reads.flatMap(({ client, name, atLeast, found }) => {
    const shown = `${client}: ${name} was read`;
    if (found === undefined) {
      const deleted = truth.some(
        (change) => change.name === name && change.type === "delete" && change.revision > atLeast,
      );
      return atLeast === 0 || deleted ? [] : [`${shown} as gone, after it was told of ${atLeast}`];
    }
    if (found.revision < atLeast) return [`${shown} at ${found.revision}, after it was told of ${atLeast}`];
    return byRevision.get(found.revision)?.value === found.value
      ? []
      : [`${shown} at ${found.revision} as ${found.value}, which was never so`];
  });
}

function checkStories(stories: readonly Story[], truth: readonly Change[], watcher: number): string[] {
  return stories.flatMap(({ revision, list, changes }) => {
    const then = new Map<string, Version>();
    for (const change of truth) {
      if (change.revision > revision) break;
      if (change.type === "put") then.set(change.name, { revision: change.revision, value: change.value! });
      else then.delete(change.name);
    }
    const shown = `watcher ${watcher} from ${revision}`;
    if (sorted(then) !== sorted(list)) return [`${shown}: the list is not what was there`];
    const last = changes.at(-1)?.revision ?? revision;
    const expected = truth.filter((change) => change.revision > revision && change.revision <= last);
    const at = expected.findIndex((change, index) => key(change) !== key(changes[index]));
    if (at >= 0) return [`${shown}: ${key(changes[at])} came where ${key(expected[at])} was`];
    return changes.length > expected.length
      ? [`${shown}: ${key(changes[expected.length])} was too much`]
      : [];
  });
}

function key(change: Change | undefined): string {
  return change === undefined
    ? "nothing"
    : `${change.type} ${change.name} ${change.value ?? ""} at ${change.revision}`;
}

function sorted(list: ReadonlyMap<string, Version>): string {
  return JSON.stringify([...list].map(([name, { revision, value }]) => [name, revision, value]).sort());
}
