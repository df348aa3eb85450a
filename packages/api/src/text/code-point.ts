/** Returns the code point of a character, a text that is not empty. */
export function codePointOf(character: string): number {
  // Only the empty text has none.
  return character.codePointAt(0)!;
}
