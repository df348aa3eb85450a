import { type KubeObject, labelSelectorOf, StatusError } from "@dray/api";
import { namesOf, valueAt } from "../customresources/scale-paths.ts";
import { fieldsIn } from "../json/values.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { isPlain, type Plain, setField } from "../structural-schemas/schema.ts";

const usual = { spec: ".spec.replicas", status: ".status.replicas", selector: ".spec.selector" };

/** The fields of an object that its scale shows and sets: their paths depend on the kind. */
export class ScaledParts {
  readonly #paths: { readonly spec: string; readonly status: string; readonly selector?: string };
  /** A custom resource has a scale only if its replicas are set. */
  readonly #mustBeSet: boolean;

  constructor({ scalePaths }: ServedResource) {
    this.#paths = scalePaths ?? usual;
    this.#mustBeSet = scalePaths !== undefined;
  }

  /** In the notation of managedFields. */
  get fields(): string[] {
    return namesOf(this.#paths.spec).map((name) => `f:${name}`);
  }

  replicas(object: KubeObject): number | undefined {
    const { value } = valueAt(fieldsIn(object), this.#paths.spec);
    return value === undefined || value === null ? undefined : Number(value);
  }

  /** Throws 500 if the replicas are missing but required. */
  checkSet(object: KubeObject): void {
    if (!this.#mustBeSet || this.replicas(object) !== undefined) return;
    const path = JSON.stringify(this.#paths.spec);
    throw StatusError.of(
      "InternalError",
      `Internal error occurred: the spec replicas field ${path} does not exist`,
      {
        causes: [{ message: `the spec replicas field ${path} does not exist` }],
      },
    );
  }

  setReplicas(object: KubeObject, replicas: number): void {
    const names = namesOf(this.#paths.spec);
    let parent = fieldsIn(object);
    for (const [at, name] of names.entries()) {
      if (at === names.length - 1) {
        setField(parent, name, replicas);
        return;
      }
      const below = Object.hasOwn(parent, name) ? parent[name] : undefined;
      const next: Plain = isPlain(below) ? { ...below } : {};
      setField(parent, name, next);
      parent = next;
    }
  }

  statusReplicas(object: KubeObject): number {
    return Number(valueAt(fieldsIn(object), this.#paths.status).value ?? 0);
  }

  /** In the form of the query parameter. */
  selector(object: KubeObject): string {
    const { selector } = this.#paths;
    return selector === undefined ? "" : selectorText(valueAt(fieldsIn(object), selector).value);
  }
}

function selectorText(selector: unknown): string {
  if (typeof selector === "string") return selector;
  if (typeof selector !== "object" || selector === null) return "";
  const labels = selector as { matchLabels?: object; matchExpressions?: unknown };
  const structured = "matchLabels" in labels || "matchExpressions" in labels;
  return structured
    ? labelSelectorOf(selector as Parameters<typeof labelSelectorOf>[0]).toString()
    : Object.entries(selector)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, value]) => `${key}=${value}`)
        .join(",");
}
