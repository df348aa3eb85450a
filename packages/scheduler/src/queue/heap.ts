/** A binary heap: the first by `less` is at the top. Adding and removing take logarithmic time. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #places = new Map<T, number>();
  readonly #less: (a: T, b: T) => boolean;

  constructor(less: (a: T, b: T) => boolean) {
    this.#less = less;
  }

  get size(): number {
    return this.#items.length;
  }

  has(item: T): boolean {
    return this.#places.has(item);
  }

  /** An item that is there already stays once. */
  add(item: T): void {
    if (this.#places.has(item)) return;
    this.#items.push(item);
    this.#places.set(item, this.#items.length - 1);
    this.#up(this.#items.length - 1);
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  pop(): T | undefined {
    const first = this.#items[0];
    if (first !== undefined) this.delete(first);
    return first;
  }

  delete(item: T): boolean {
    const place = this.#places.get(item);
    if (place === undefined) return false;
    const last = this.#items.length - 1;
    this.#swap(place, last);
    this.#items.pop();
    this.#places.delete(item);
    if (place === last) return true;
    this.#up(place);
    this.#down(place);
    return true;
  }

  #up(from: number): void {
    for (let place = from; place > 0; ) {
      const parent = (place - 1) >> 1;
      if (!this.#less(this.#items[place]!, this.#items[parent]!)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #down(from: number): void {
    for (let place = from; ; ) {
      let least = place;
      for (const child of [2 * place + 1, 2 * place + 2]) {
        if (child < this.#items.length && this.#less(this.#items[child]!, this.#items[least]!)) least = child;
      }
      if (least === place) return;
      this.#swap(place, least);
      place = least;
    }
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#items[a]!, this.#items[b]!];
    this.#items[a] = other;
    this.#items[b] = one;
    this.#places.set(other, a);
    this.#places.set(one, b);
  }
}
