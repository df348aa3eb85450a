import { column } from "../../tables/column.ts";

const modeNames = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

export const modesText = (modes: readonly string[] | undefined): string =>
  Object.entries(modeNames)
    .filter(([mode]) => (modes ?? []).includes(mode))
    .map(([, short]) => short)
    .join(",");

/** The deprecated annotation has precedence. */
export const classOf = (
  { annotations }: { readonly annotations?: Readonly<Record<string, string>> },
  name: string | undefined,
): string => annotations?.["volume.beta.kubernetes.io/storage-class"] ?? name ?? "";

export const flag = (name: string) => column(name, { type: "boolean" });
