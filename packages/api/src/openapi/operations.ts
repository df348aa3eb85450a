import type { KindRow } from "../schema/table.ts";
import { connectOperations } from "./connect.ts";
import { formsOf, listForms, objectForms, options, patchForms, type Subject } from "./forms.ts";
import type { JSONObject } from "./json.ts";
import { groupWord } from "./names.ts";
import { pathParameter, prettyParameter, queryParameters } from "./parameters.ts";
import type { OpenAPIResource } from "./resources.ts";
import type { SchemaSet } from "./schemas.ts";

interface Operation {
  readonly method: string;
  readonly verb: string;
  readonly does: string;
  readonly forms: readonly string[];
}

/** Operations on one object. */
const operations = {
  read: { method: "get", verb: "read", does: "Reads", forms: objectForms },
  readLog: { method: "get", verb: "read", does: "Reads the log of", forms: [] },
  create: { method: "post", verb: "create", does: "Creates", forms: objectForms },
  replace: { method: "put", verb: "replace", does: "Replaces", forms: objectForms },
  patch: { method: "patch", verb: "patch", does: "Changes parts of", forms: objectForms },
  delete: { method: "delete", verb: "delete", does: "Deletes", forms: objectForms },
} as const satisfies Readonly<Record<string, Operation>>;

/** The paths of one group and version. The types that they use are added to the schemas. */
export class PathSet {
  readonly #release: string;
  readonly #group: string;
  readonly #version: string;
  readonly #schemas: SchemaSet;
  readonly #paths = new Map<string, JSONObject>();

  constructor(group: string, version: string, release: string, schemas: SchemaSet) {
    this.#group = group;
    this.#version = version;
    this.#release = release;
    this.#schemas = schemas;
  }

  /** The path of the group and version itself. */
  addRoot(): void {
    const schemas = this.#schemas;
    this.#paths.set(`${this.#root}/`, {
      get: {
        description: "The resources of this group and version.",
        ...this.#identity("get", "APIResources"),
        responses: this.#responses(objectForms, schemas.type("meta/v1.APIResourceList")),
      },
    });
  }

  /** By path, in the order of the paths. */
  all(): JSONObject {
    return Object.fromEntries([...this.#paths].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  add({ row, verbs, subresources, custom }: OpenAPIResource): void {
    const subject: Subject = {
      row,
      namespaced: row.namespaced,
      subresource: "",
      custom: custom !== undefined,
    };
    const within = row.namespaced ? "/namespaces/{namespace}" : "";
    const scope = row.namespaced ? [pathParameter("namespace")] : [];
    const collection = `${this.#root}${within}/${row.resource}`;
    const item = `${collection}/{name}`;
    this.#path(collection, scope, {
      ...(verbs.includes("list") ? { get: this.#list(subject, false) } : {}),
      ...(verbs.includes("create") ? { post: this.#post(subject) } : {}),
      ...(verbs.includes("deletecollection") ? { delete: this.#deleteCollection(subject) } : {}),
    });
    this.#path(item, [pathParameter("name"), ...scope], this.#itemOperations(subject, verbs));
    if (row.namespaced && verbs.includes("list")) {
      this.#path(`${this.#root}/${row.resource}`, [], { get: this.#list(subject, true) });
    }
    if (verbs.includes("watch") && custom === undefined) this.#watchPaths(subject, within, scope);
    for (const { row: of, ...sub } of subresources) {
      if ("options" in of)
        this.#connectPaths(row, `${item}/${sub.name}`, scope, { name: sub.name, options: of.options });
      else this.#subresourcePath(subject, `${item}/${sub.name}`, scope, { ...sub, row: of });
    }
  }
  #subresourcePath(
    { row, namespaced, custom }: Subject,
    path: string,
    scope: readonly JSONObject[],
    sub: { readonly name: string; readonly row: KindRow; readonly verbs: readonly string[] },
  ): void {
    const name = sub.name.charAt(0).toUpperCase() + sub.name.slice(1);
    const of = { row: sub.row, namespaced, subresource: sub.row.kind === name ? "" : name, custom };
    // The id names the parent too: `PodBinding`, `NamespaceFinalize`.
    const id = `${row.kind}${name}`;
    this.#path(path, [pathParameter("name"), ...scope], {
      ...(sub.name === "log" && sub.verbs.includes("get") ? { get: this.#log(of, id) } : {}),
      ...(sub.name === "log" ? {} : this.#itemOperations(of, sub.verbs, id)),
      ...(sub.verbs.includes("create") ? { post: this.#post(of, id) } : {}),
    });
  }

  /** Adds the path below a proxy, which is a path of its own. */
  #connectPaths(
    row: KindRow,
    path: string,
    scope: readonly JSONObject[],
    { name, options: optionsKind }: { readonly name: string; readonly options: string },
  ): void {
    const { group, version } = row;
    const connection = {
      name,
      parent: row.kind,
      options: { group, kind: optionsKind, version },
      identity: (what: string) => this.#identity("connect", what),
      namespaced: row.namespaced,
    };
    const type = row.type.replace(/[^.]*$/, optionsKind);
    const query = queryParameters([type], this.#release);
    const parameters = [pathParameter("name"), ...scope];
    const paths = this.#paths;
    paths.set(path, { ...connectOperations(connection), parameters: [...parameters, ...query] });
    if (name !== "proxy") return;
    const below = [...parameters, pathParameter("path"), ...query];
    paths.set(`${path}/{path}`, { ...connectOperations(connection, "WithPath"), parameters: below });
  }

  get #root(): string {
    return this.#group === "" ? `/api/${this.#version}` : `/apis/${this.#group}/${this.#version}`;
  }

  #path(path: string, parameters: readonly JSONObject[], operations: JSONObject): void {
    if (Object.keys(operations).length === 0) return;
    this.#paths.set(path, { ...operations, parameters: [...parameters, prettyParameter] });
  }

  #itemOperations(subject: Subject, verbs: readonly string[], id?: string): JSONObject {
    return {
      ...(verbs.includes("get") ? { get: this.#operation(operations.read, subject, {}, id) } : {}),
      ...(verbs.includes("update")
        ? {
            put: this.#operation(
              operations.replace,
              subject,
              { parameters: this.#query("put"), requestBody: this.#body(subject) },
              id,
            ),
          }
        : {}),
      ...(verbs.includes("patch")
        ? {
            patch: this.#operation(
              operations.patch,
              subject,
              {
                parameters: this.#query("patch"),
                requestBody: {
                  content: this.#content(formsOf(patchForms, subject), this.#schemas.shared("Patch")),
                  required: true,
                },
              },
              id,
            ),
          }
        : {}),
      ...(verbs.includes("delete")
        ? {
            delete: this.#operation(operations.delete, subject, {
              parameters: this.#query("delete"),
              requestBody: this.#deleteOptions(),
            }),
          }
        : {}),
    };
  }

  #post(subject: Subject, id?: string): JSONObject {
    const more = { parameters: this.#query("post"), requestBody: this.#body(subject) };
    return this.#operation(operations.create, subject, more, id);
  }

  #list(subject: Subject, everywhere: boolean): JSONObject {
    const { row } = subject;
    const id = everywhere
      ? this.#identity("list", `${row.kind}ForAllNamespaces`)
      : this.#identity("list", `${subject.namespaced ? "Namespaced" : ""}${row.kind}`);
    return {
      description: `Lists objects of kind ${row.kind}${everywhere ? " in all namespaces" : ""}, or watches them.`,
      ...id,
      parameters: this.#query("list"),
      responses: this.#responses(formsOf(listForms, subject), this.#schemas.list(row)),
      ...action("list", row),
    };
  }

  #deleteCollection(subject: Subject): JSONObject {
    const { row, namespaced } = subject;
    return {
      description: `Deletes all objects of kind ${row.kind} that are selected.`,
      ...this.#identity("delete", `Collection${namespaced ? "Namespaced" : ""}${row.kind}`),
      parameters: this.#query("deletecollection"),
      requestBody: this.#deleteOptions(),
      responses: this.#responses(objectForms, this.#schemas.type("meta/v1.Status")),
      ...action("deletecollection", row),
    };
  }

  /** The old paths to watch by; they take the parameters of a list. */
  #watchPaths(subject: Subject, within: string, scope: readonly JSONObject[]): void {
    const { row, namespaced } = subject;
    const kind = `${namespaced ? "Namespaced" : ""}${row.kind}`;
    const collection = `${this.#root}/watch${within}/${row.resource}`;
    const add = (path: string, id: string, verb: string, parameters: readonly JSONObject[]): void => {
      this.#paths.set(path, {
        get: {
          description: `Watches objects of kind ${row.kind}. Deprecated: list with the parameter watch.`,
          ...this.#identity("watch", id),
          responses: this.#responses(listForms, this.#schemas.shared("WatchEvent")),
          ...action(verb, row),
        },
        parameters: [...parameters, ...this.#query("list"), prettyParameter],
      });
    };
    add(collection, `${kind}List`, "watchlist", scope);
    add(`${collection}/{name}`, kind, "watch", [pathParameter("name"), ...scope]);
    if (namespaced) {
      add(`${this.#root}/watch/${row.resource}`, `${row.kind}ListForAllNamespaces`, "watchlist", []);
    }
  }

  #log(subject: Subject, id: string): JSONObject {
    const { responses: _responses, ...rest } = this.#operation(
      operations.readLog,
      subject,
      { parameters: queryParameters(["core/v1.PodLogOptions"], this.#release) },
      id,
    );
    return {
      ...rest,
      responses: {
        "200": { description: "OK", content: { "text/plain": { schema: { type: "string" } } } },
        "401": { description: "Unauthorized" },
      },
    };
  }

  #operation(
    { method, verb, does, forms: allForms }: Operation,
    subject: Subject,
    more: JSONObject,
    id = `${subject.row.kind}${subject.subresource}`,
  ): JSONObject {
    const { row, namespaced, subresource } = subject;
    const forms = formsOf(allForms, subject);
    const created = { description: "Created", content: this.#content(forms, this.#schemas.type(row.type)) };
    const answered = method === "delete" ? "meta/v1.Status" : row.type;
    return {
      description: `${does} an object of kind ${row.kind}${subresource === "" ? "" : ` (${subresource})`}.`,
      ...this.#identity(verb, `${namespaced ? "Namespaced" : ""}${id}`),
      ...more,
      responses: {
        ...this.#responses(forms, this.#schemas.type(answered)),
        ...(method === "post" || method === "put" || method === "patch" ? { "201": created } : {}),
      },
      ...action(method, row),
    };
  }

  /** `readResourceV1NamespacedResourceClaimStatus`, tagged `resource_v1`. */
  #identity(verb: string, what: string): JSONObject {
    const version = this.#version.charAt(0).toUpperCase() + this.#version.slice(1);
    const group = groupWord(this.#group);
    return {
      operationId: `${verb}${group}${version}${what}`,
      tags: [`${group.charAt(0).toLowerCase()}${group.slice(1)}_${this.#version}`],
    };
  }

  #query(operation: keyof typeof options): JSONObject[] {
    const { types, ...rest } = options[operation];
    return queryParameters(types, this.#release, "without" in rest ? rest.without : []);
  }

  #body({ row }: Subject): JSONObject {
    return { content: this.#content(["*/*"], this.#schemas.type(row.type)), required: true };
  }

  #deleteOptions(): JSONObject {
    return { content: this.#content(["*/*"], this.#schemas.type("meta/v1.DeleteOptions")) };
  }

  #responses(forms: readonly string[], schema: JSONObject): JSONObject {
    return {
      "200": { description: "OK", content: this.#content(forms, schema) },
      "401": { description: "Unauthorized" },
    };
  }

  #content(forms: readonly string[], schema: JSONObject): JSONObject {
    return Object.fromEntries(forms.map((form) => [form, { schema }]));
  }
}

function action(verb: string, { group, version, kind }: KindRow): JSONObject {
  return {
    "x-kubernetes-action": verb,
    "x-kubernetes-group-version-kind": { group, kind, version },
  };
}
