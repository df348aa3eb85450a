import type { ServedResource } from "./resources.ts";

const pathOf = ({ group, version, resource }: ServedResource): string => `${group}/${version}/${resource}`;

/** All resources that the server serves. `list` and `byPath` stay the same objects on changes. */
export class ResourceSet {
  readonly #list: ServedResource[] = [];
  readonly #byPath = new Map<string, ServedResource>();
  #revision = 0;

  constructor(resources: readonly ServedResource[]) {
    this.replace([], resources);
  }

  get list(): readonly ServedResource[] {
    return this.#list;
  }

  /** By `group/version/resource`. */
  get byPath(): ReadonlyMap<string, ServedResource> {
    return this.#byPath;
  }

  /** Incremented by each change. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * Removes and adds resources. An existing resource at a path stays: a definition cannot replace a built-in
   * kind.
   */
  replace(old: readonly ServedResource[], next: readonly ServedResource[]): void {
    for (const resource of old) {
      const index = this.#list.indexOf(resource);
      if (index < 0) continue;
      this.#list.splice(index, 1);
      this.#byPath.delete(pathOf(resource));
    }
    for (const resource of next) {
      if (this.#byPath.has(pathOf(resource))) continue;
      this.#list.push(resource);
      this.#byPath.set(pathOf(resource), resource);
    }
    this.#revision++;
  }
}
