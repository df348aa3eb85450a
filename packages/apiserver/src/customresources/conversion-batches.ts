/**
 * Maximum number of fields, keys and elements, and of characters, of the objects that are converted at once:
 * they and the response are each processed without a pause.
 */
const maxValues = 50_000;
const maxCharacters = 2 * 2 ** 20;

/** Divides objects for requests to a conversion webhook. A larger object is a batch of its own. */
export function* batchesOf<T extends object>(objects: readonly T[]): Generator<readonly T[]> {
  let batch: T[] = [];
  let [values, characters] = [0, 0];
  for (const object of objects) {
    const size = sizeOf(object);
    const fits = values + size.values <= maxValues && characters + size.characters <= maxCharacters;
    if (batch.length > 0 && !fits) {
      yield batch;
      batch = [];
      [values, characters] = [0, 0];
    }
    batch.push(object);
    values += size.values;
    characters += size.characters;
  }
  if (batch.length > 0) yield batch;
}

interface Size {
  readonly values: number;
  readonly characters: number;
}

function sizeOf(tree: object): Size {
  let [values, characters] = [0, 0];
  const open: object[] = [tree];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    for (const [key, part] of Object.entries(value) as [string, unknown][]) {
      values++;
      characters += Array.isArray(value) ? 0 : key.length;
      if (typeof part === "string") characters += part.length;
      else if (typeof part === "object" && part !== null) open.push(part);
    }
  }
  return { values, characters };
}
