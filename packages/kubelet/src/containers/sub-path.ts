import { realpathSync } from "node:fs";
import { relative, sep } from "node:path";
import { OpenEntry } from "../base/open-entry.ts";

/** Maximum number of links in one path, as in the system (path_resolution(7)). */
const maxLinks = 40;

/**
 * Opens what `subPath` of a volume mount names; the caller closes it. Follows links within the volume only;
 * with `create`, makes missing directories with the mode of the volume. Each part is opened from the folder
 * before it, so that containers that exchange parts lead nowhere else. Throws an Error for a path that leads
 * out of the volume, and for a missing one without `create`.
 *
 * Upstream: pkg/volume/util/subpath/subpath_linux.go, SafeMakeDir and safeOpenSubPath.
 */
export function openSubPath(volume: string, subPath: string, create: boolean): OpenEntry {
  const walk = new Walk(volume, subPath);
  try {
    return walk.run(create);
  } finally {
    walk.close();
  }
}

class Walk {
  readonly #base: string;
  readonly #subPath: string;
  /** The volume, and the folders on the way from it; the last one is where the walk is. */
  readonly #way: OpenEntry[];
  readonly #names: string[];
  #links = 0;

  constructor(volume: string, subPath: string) {
    this.#base = realpathSync(volume);
    this.#subPath = subPath;
    this.#names = split(subPath);
    this.#way = [OpenEntry.open(this.#base)];
  }

  /** Returns the last entry of the way. */
  run(create: boolean): OpenEntry {
    for (let name = this.#names.shift(); name !== undefined; name = this.#names.shift()) {
      if (name === "..") this.#up();
      else this.#enter(name, create);
    }
    return this.#way.pop()!; // The way has the volume at least.
  }

  close(): void {
    this.#backTo(0);
  }

  get #here(): OpenEntry {
    return this.#way.at(-1)!; // The way has the volume at least.
  }

  #enter(name: string, create: boolean): void {
    const found = this.#look(name, create);
    if (found === undefined) throw this.#problem("does not exist in the volume");
    if (typeof found === "string") this.#follow(found);
    else {
      this.#way.push(found);
      if (this.#names.length > 0 && !found.stat.isDirectory())
        throw this.#problem(`: ${name} is not a directory`);
    }
  }

  #look(name: string, create: boolean): OpenEntry | string | undefined {
    // A container may remove again and again what is made.
    for (let looks = 0; ; looks++) {
      const found = this.#here.look(name);
      if (found !== undefined || !create || looks >= maxLinks) return found;
      this.#here.makeFolder(name, Number(this.#way[0]?.stat.mode ?? 0n) & 0o7777);
    }
  }

  #up(): void {
    if (this.#way.length === 1) throw this.#problem("leads out of the volume");
    this.#way.pop()?.close();
  }

  #follow(target: string): void {
    this.#countLink();
    let names = split(target);
    if (target.startsWith("/")) {
      const within = relative(this.#base, target);
      if (within.split(sep)[0] === "..") throw this.#problem("leads out of the volume");
      this.#backTo(1);
      names = split(within);
    }
    for (const name of names.reverse()) this.#names.unshift(name);
  }

  #countLink(): void {
    if (++this.#links > maxLinks) throw this.#problem("has too many symbolic links");
  }

  #backTo(length: number): void {
    for (const entry of this.#way.splice(length)) entry.close();
  }

  #problem(text: string): Error {
    const shown = `subPath ${JSON.stringify(this.#subPath)}`;
    return new Error(text.startsWith(":") ? `${shown}${text}` : `${shown} ${text}`);
  }
}

function split(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
