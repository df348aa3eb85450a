/** Maximum number of edits by which a word of this length counts as mistyped. */
const maxEdits = (length: number): number => (length < 3 ? 0 : length < 6 ? 1 : length < 12 ? 2 : 3);

/** Returns the candidates that `word` may be a typo of: the closest first, at most three. */
export function similar(word: string, candidates: Iterable<string>): string[] {
  const wanted = word.toLowerCase();
  const near = [...new Set(candidates)].flatMap((candidate) => {
    const known = candidate.toLowerCase();
    const edits = distance(wanted, known);
    const begun = wanted.length >= 3 && known.startsWith(wanted);
    return begun || edits <= maxEdits(Math.max(wanted.length, known.length)) ? [{ candidate, edits }] : [];
  });
  return near
    .sort((a, b) => a.edits - b.edits || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** Returns "did you mean X?" or "did you mean X or Y?"; undefined if no candidate is similar. */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  const found = similar(word, candidates);
  const last = found.pop();
  if (last === undefined) return undefined;
  return `did you mean ${found.length === 0 ? "" : `${found.join(", ")} or `}${last}?`;
}

/** Counts the edits between two words; a swap of neighbours is one edit (optimal string alignment). */
function distance(a: string, b: string): number {
  // Long words are not typos of each other, and the table below would be large.
  if (Math.abs(a.length - b.length) > 3 || a.length > 100) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, before[j - 2]! + 1);
      row.push(edits);
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
