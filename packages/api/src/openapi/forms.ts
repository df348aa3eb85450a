import type { KindRow } from "../schema/table.ts";

export const objectForms = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
export const listForms = [
  ...objectForms,
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch",
];
export const patchForms = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];

/** Query parameters of operations, each from the options type of meta/v1 that the server reads them into. */
export const options = {
  list: { types: ["meta/v1.ListOptions"] },
  post: { types: ["meta/v1.CreateOptions"] },
  put: { types: ["meta/v1.UpdateOptions"] },
  patch: { types: ["meta/v1.PatchOptions"] },
  delete: { types: ["meta/v1.DeleteOptions"] },
  deletecollection: {
    types: ["meta/v1.ListOptions", "meta/v1.DeleteOptions"],
    without: ["watch", "allowWatchBookmarks"],
  },
} as const;

/** The kind or subresource that is served at one path. */
export interface Subject {
  readonly row: KindRow;
  readonly namespaced: boolean;
  /** Ends operation ids: `Status`. */
  readonly subresource: string;
  /** True if protobuf and strategic merge are not supported. */
  readonly custom: boolean;
}

/** Without the forms that custom resources do not have. */
export function formsOf(forms: readonly string[], { custom, row }: Subject): readonly string[] {
  const lacking =
    custom && row.kind !== "Scale" ? /protobuf|strategic|stream=watch/ : custom ? /strategic/ : undefined;
  return lacking === undefined ? forms : forms.filter((form) => !lacking.test(form));
}
