import { codePointOf } from "@dray/api";

const letter = /^\p{L}$/u;
const digit = /^\p{Nd}$/u;

/** go-yaml's order of keys: letters after other characters, embedded numbers by value. */
export function compareKeys(left: string, right: string): number {
  const [a, b] = [[...left], [...right]];
  for (let at = 0; at < a.length && at < b.length; at++) {
    const [one, other] = [a[at]!, b[at]!];
    if (one === other) continue;
    const [oneLetter, otherLetter] = [letter.test(one), letter.test(other)];
    if (oneLetter && otherLetter) return codePointOf(one) - codePointOf(other);
    if (oneLetter || otherLetter) return otherLetter ? -1 : 1;
    const zeros = (one === "0" || other === "0") && inNumber(a, at) ? 1 : 0;
    const [first, second] = [numberAt(a, at, zeros), numberAt(b, at, zeros)];
    if (first.value !== second.value) return first.value < second.value ? -1 : 1;
    if (first.end !== second.end) return first.end - second.end;
    return codePointOf(one) - codePointOf(other);
  }
  return a.length - b.length;
}

/** Reports whether nonzero digits precede: then the next zero is not a leading one. */
function inNumber(characters: readonly string[], at: number): boolean {
  for (let before = at - 1; before >= 0 && digit.test(characters[before]!); before--) {
    if (characters[before] !== "0") return true;
  }
  return false;
}

function numberAt(characters: readonly string[], at: number, start: number): { value: bigint; end: number } {
  let value = BigInt(start);
  let end = at;
  for (; end < characters.length && digit.test(characters[end]!); end++) {
    value = value * 10n + BigInt(codePointOf(characters[end]!) - 48);
  }
  // Wraps around, like an int64.
  return { value: BigInt.asIntN(64, value), end };
}
