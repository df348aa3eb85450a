/** Maximum length of names that are compared: longer ones are not typed by hand. */
const maxLength = 100;
const maxEdits = 2;

/** Reports whether two names differ by a typo: their Levenshtein distance is at most 2. */
export function isSimilar(a: string, b: string): boolean {
  if (Math.max(a.length, b.length) > maxLength) return false;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]! <= maxEdits;
}
