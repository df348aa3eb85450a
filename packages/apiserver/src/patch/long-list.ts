/** Minimum length of a list for which its pieces are worth it. */
const minLength = 4096;
const minPiece = 512;

/**
 * A long list under many insertions and removals: an array moves all items behind the place each time, this
 * moves those of one piece, about as many as there are pieces.
 */
export class LongList {
  #pieces: unknown[][] = [];
  #pieceLength: number;
  #length: number;

  private constructor(items: readonly unknown[]) {
    this.#length = items.length;
    this.#pieceLength = Math.max(minPiece, Math.ceil(Math.sqrt(items.length)));
    for (let start = 0; start < items.length; start += this.#pieceLength) {
      this.#pieces.push(items.slice(start, start + this.#pieceLength));
    }
  }

  /** Returns a copy of the list that may be changed; an array if it is short. */
  static of(items: readonly unknown[]): unknown[] | LongList {
    return items.length < minLength ? [...items] : new LongList(items);
  }

  get length(): number {
    return this.#length;
  }

  at(index: number): unknown {
    const { piece, offset } = this.#find(index);
    return this.#pieces[piece]?.[offset];
  }

  set(index: number, value: unknown): void {
    const { piece, offset } = this.#find(index);
    this.#pieces[piece]![offset] = value; // `index` is less than the length
  }

  /** Inserts before the item at `index`, at most the length. */
  insert(index: number, value: unknown): void {
    const { piece, offset } = this.#find(index);
    const found = this.#pieces[piece];
    this.#length++;
    if (found === undefined) {
      this.#pieces.push([value]);
      return;
    }
    found.splice(offset, 0, value);
    if (found.length <= 2 * this.#pieceLength) return;
    this.#pieces.splice(piece + 1, 0, found.splice(this.#pieceLength));
  }

  remove(index: number): void {
    const { piece, offset } = this.#find(index);
    const found = this.#pieces[piece]!; // `index` is less than the length
    found.splice(offset, 1);
    this.#length--;
    if (found.length === 0) this.#pieces.splice(piece, 1);
  }

  *[Symbol.iterator](): Iterator<unknown> {
    for (const piece of this.#pieces) yield* piece;
  }

  /** Returns the place of an index; that behind the last item for the length. */
  #find(index: number): { readonly piece: number; readonly offset: number } {
    let offset = index;
    const last = this.#pieces.length - 1;
    for (let piece = 0; piece < last; piece++) {
      const { length } = this.#pieces[piece]!;
      if (offset < length) return { piece, offset };
      offset -= length;
    }
    return { piece: Math.max(0, last), offset };
  }
}
