import type { YAMLMap } from "yaml";
import { fieldOf, type Plain, textOf } from "./nodes.ts";

/** A change for a person to review: the input has no equivalent, or another meaning now. */
export interface MigrationNote {
  readonly file: string;
  /** From 1 on. */
  readonly line: number;
  /** `Pod default/a` */
  readonly object: string;
  /** Path of the field, as the API server writes it. */
  readonly path: string;
  readonly message: string;
}

/** An object of the input, which is changed in place. */
export class Manifest {
  readonly map: YAMLMap;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
  /** It was changed. */
  changed = false;
  /** It has no equivalent, and is left out. */
  dropped = false;
  /** Objects to add behind it. */
  readonly added: Plain[] = [];
  readonly #lineOf: (node: unknown) => number;
  readonly #notes: MigrationNote[];
  readonly #file: string;

  constructor(map: YAMLMap, file: string, lineOf: (node: unknown) => number, notes: MigrationNote[]) {
    this.map = map;
    this.#file = file;
    this.#lineOf = lineOf;
    this.#notes = notes;
    this.apiVersion = textOf(fieldOf(map, "apiVersion")) ?? "";
    this.kind = textOf(fieldOf(map, "kind")) ?? "";
    const generated = textOf(fieldOf(map, "metadata", "generateName"))?.replace(/[-.]+$/, "");
    this.name = textOf(fieldOf(map, "metadata", "name")) ?? generated ?? "";
    this.namespace = textOf(fieldOf(map, "metadata", "namespace"));
  }

  get group(): string {
    return this.apiVersion.includes("/") ? this.apiVersion.slice(0, this.apiVersion.indexOf("/")) : "";
  }

  get version(): string {
    return this.apiVersion.slice(this.apiVersion.indexOf("/") + 1);
  }

  get label(): string {
    const name = this.namespace === undefined ? this.name : `${this.namespace}/${this.name}`;
    return name === "" ? this.kind : `${this.kind} ${name}`;
  }

  /** Returns the key of an object of this kind and name; `default` and no namespace are the same. */
  key(kind: string, name: string, namespace = this.namespace): string {
    return `${kind} ${namespace ?? "default"}/${name}`;
  }

  /** `at`: the node in the input. */
  note(path: string, message: string, at: unknown = this.map): void {
    this.#notes.push({ file: this.#file, line: this.#lineOf(at), object: this.label, path, message });
  }
}
