import { nameAlphabet } from "@dray/api";

/** Five characters made of a new id, as `generateName` appends them. */
export function nameSuffix(newId: () => string): string {
  let number = 0n;
  for (const digit of newId().replaceAll("-", "")) number = number * 31n + BigInt(digit.charCodeAt(0));
  let suffix = "";
  for (let index = 0; index < 5; index++) {
    suffix += nameAlphabet[Number(number % 27n)];
    number /= 27n;
  }
  return suffix;
}
