/**
 * Sorts the indexes 0 to count-1 with the steps of Go's sort.Slice, a pattern-defeating quicksort. It is not
 * stable, and with NaN among the keys `less` is inconsistent: the order then depends on the steps.
 */
export function sortIndexes(count: number, less: (a: number, b: number) => boolean): number[] {
  const sorter = new Sorter(count, less);
  sorter.sort(0, count, count.toString(2).length);
  return sorter.indexes;
}

/** Maximum length of a range that is sorted by insertion. */
const maxInsertion = 12;
/** Minimum length for Tukey's ninther as the pivot, and for shifts in a partial insertion sort. */
const minNinther = 50;
/** The number of swaps among the candidates for a pivot in a descending range. */
const maxSwaps = 12;
/** Maximum number of shifts in a partial insertion sort. */
const maxShifts = 5;

class Sorter {
  readonly indexes: number[];
  readonly #less: (a: number, b: number) => boolean;

  constructor(count: number, less: (a: number, b: number) => boolean) {
    this.indexes = Array.from({ length: count }, (_, i) => i);
    this.#less = less;
  }

  /** Sorts from `start` up to `end`. After `maxUnbalanced` unbalanced partitions it uses heap sort. */
  sort(start: number, end: number, maxUnbalanced: number): void {
    let [from, to, left] = [start, end, maxUnbalanced];
    let balanced = true;
    let partitioned = true;
    while (to - from > maxInsertion) {
      if (left === 0) {
        this.#heapSort(from, to);
        return;
      }
      if (!balanced) {
        this.#shuffle(from, to);
        left--;
      }
      let { pivot, swaps } = this.#choosePivot(from, to);
      if (swaps === maxSwaps) {
        for (let i = from, j = to - 1; i < j; i++, j--) this.#swap(i, j);
        pivot = to - 1 - (pivot - from);
        swaps = 0;
      }
      if (balanced && partitioned && swaps === 0 && this.#partialInsertionSort(from, to)) return;
      if (from > 0 && !this.#before(from - 1, pivot)) {
        from = this.#partitionEqual(from, to, pivot);
        continue;
      }
      const [middle, wasPartitioned] = this.#partition(from, to, pivot);
      partitioned = wasPartitioned;
      const [below, above] = [middle - from, to - middle];
      balanced = Math.min(below, above) >= Math.trunc((to - from) / 8);
      if (below < above) {
        this.sort(from, middle, left);
        from = middle + 1;
      } else {
        this.sort(middle + 1, to, left);
        to = middle;
      }
    }
    for (let i = from + 1; i < to; i++) this.#insert(i, from);
  }

  #before(i: number, j: number): boolean {
    return this.#less(this.indexes[i]!, this.indexes[j]!);
  }

  #swap(i: number, j: number): void {
    [this.indexes[i], this.indexes[j]] = [this.indexes[j]!, this.indexes[i]!];
  }

  /** Moves an element down to its place. */
  #insert(place: number, lowest: number): void {
    for (let i = place; i > lowest && this.#before(i, i - 1); i--) this.#swap(i, i - 1);
  }

  #heapSort(from: number, to: number): void {
    const size = to - from;
    for (let i = Math.trunc((size - 1) / 2); i >= 0; i--) this.#sift(i, size, from);
    for (let i = size - 1; i >= 0; i--) {
      this.#swap(from, from + i);
      this.#sift(0, i, from);
    }
  }

  #sift(top: number, size: number, from: number): void {
    for (let root = top; ; ) {
      let child = 2 * root + 1;
      if (child >= size) return;
      if (child + 1 < size && this.#before(from + child, from + child + 1)) child++;
      if (!this.#before(from + root, from + child)) return;
      this.#swap(from + root, from + child);
      root = child;
    }
  }

  /** Swaps three elements in the middle with pseudorandom ones, to break patterns. */
  #shuffle(from: number, to: number): void {
    const length = to - from;
    const mask = (1n << BigInt(length.toString(2).length)) - 1n;
    let random = BigInt(length);
    const middle = from + Math.trunc(length / 4) * 2;
    for (let i = middle - 1; i <= middle + 1; i++) {
      random = BigInt.asUintN(64, random ^ (random << 13n));
      random ^= random >> 7n;
      random = BigInt.asUintN(64, random ^ (random << 17n));
      let other = Number(random & mask);
      if (other >= length) other -= length;
      this.#swap(i, from + other);
    }
  }

  #choosePivot(from: number, to: number): { pivot: number; swaps: number } {
    const quarter = Math.trunc((to - from) / 4);
    let swaps = 0;
    const median = (a: number, b: number, c: number): number => {
      let [low, middle, high] = [a, b, c];
      const order = (): void => {
        if (!this.#before(middle, low)) return;
        swaps++;
        [low, middle] = [middle, low];
      };
      order();
      if (this.#before(high, middle)) {
        swaps++;
        [middle, high] = [high, middle];
      }
      order();
      return middle;
    };
    let places = [from + quarter, from + 2 * quarter, from + 3 * quarter] as [number, number, number];
    if (to - from >= minNinther) {
      places = places.map((place) => median(place - 1, place, place + 1)) as [number, number, number];
    }
    return { pivot: median(...places), swaps };
  }

  /** Go's partialInsertionSort: shifts a few elements, and reports whether the range is sorted. */
  #partialInsertionSort(from: number, to: number): boolean {
    let i = from + 1;
    for (let moves = 0; moves < maxShifts; moves++) {
      while (i < to && !this.#before(i, i - 1)) i++;
      if (i === to) return true;
      if (to - from < minNinther) return false;
      this.#swap(i, i - 1);
      if (i - from >= 2) this.#insert(i - 1, 0);
      if (to - i >= 2) {
        for (let j = i + 1; j < to && this.#before(j, j - 1); j++) this.#swap(j, j - 1);
      }
    }
    return false;
  }

  /** Moves the elements that equal the pivot, the smallest element, to the front. Returns their end. */
  #partitionEqual(from: number, to: number, pivot: number): number {
    this.#swap(from, pivot);
    let [i, j] = [from + 1, to - 1];
    for (;;) {
      while (i <= j && !this.#before(from, i)) i++;
      while (i <= j && this.#before(from, j)) j--;
      if (i > j) return i;
      this.#swap(i++, j--);
    }
  }

  /**
   * Moves smaller elements before the pivot. Returns its place, and whether the range was partitioned
   * already.
   */
  #partition(from: number, to: number, pivot: number): [place: number, nothingMoved: boolean] {
    this.#swap(from, pivot);
    let [i, j] = [from + 1, to - 1];
    for (let moved = 0; ; moved++) {
      while (i <= j && this.#before(i, from)) i++;
      while (i <= j && !this.#before(j, from)) j--;
      if (i > j) {
        this.#swap(j, from);
        return [j, moved === 0];
      }
      this.#swap(i++, j--);
    }
  }
}
