import type { Fields } from "../format.ts";

/** Objects whose entries may go one by one; of the others only elements of lists may. */
const maps = new Set(["attributes", "capacity", "counters", "requests", "allocated"]);

/**
 * A smaller question on which `still` holds: elements of lists, entries of maps and parts of the expression
 * are left out as long as it does. Asks at most `most` times.
 */
export async function shrink(
  question: Fields,
  still: (smaller: Fields) => Promise<boolean>,
  most = 300,
): Promise<Fields> {
  let best = question;
  for (let asked = 0, again = true; again; ) {
    again = false;
    for (const smaller of smallerOnes(best)) {
      if (asked++ >= most) return best;
      if (!(await still(smaller))) continue;
      best = smaller;
      again = true;
      break;
    }
  }
  return best;
}

function* smallerOnes(question: Fields): Iterable<Fields> {
  const { expression } = question;
  if (typeof expression === "string") {
    for (const smaller of smallerTexts(expression)) yield { ...question, expression: smaller };
  }
  yield* smallerValues(question, "") as Iterable<Fields>;
}

/** Without a part: long parts first. */
function* smallerTexts(text: string): Iterable<string> {
  for (let length = Math.ceil(text.length / 2); length >= 1; length = Math.floor(length / 2)) {
    for (let at = 0; at < text.length; at += length) yield text.slice(0, at) + text.slice(at + length);
  }
}

function* smallerValues(value: unknown, key: string): Iterable<unknown> {
  if (Array.isArray(value)) {
    for (const i of value.keys()) yield value.toSpliced(i, 1);
    for (const [i, element] of value.entries()) {
      for (const smaller of smallerValues(element, "")) yield value.with(i, smaller);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      if (maps.has(key)) {
        const { [name]: _, ...others } = value as Record<string, unknown>;
        yield others;
      }
      for (const smaller of smallerValues(item, name)) yield { ...value, [name]: smaller };
    }
  }
}
