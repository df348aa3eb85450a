import type { FieldErrors } from "../../checks/field.ts";
import { qualifiedName } from "../../values/names.ts";
import { counted } from "./pod/resources.ts";

export type List = Readonly<Record<string, string>>;

export const computed = ["cpu", "memory", "ephemeral-storage"];

const ofQuotas = new Set([
  ...computed.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  ...counted,
  "requests.storage",
]);

const isHugePages = (name: string): boolean =>
  name.startsWith("hugepages-") || name.startsWith("requests.hugepages-");

export const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");

export const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith("requests.") && qualifiedName(`requests.${name}`).length === 0;

export const isOfQuotas = (name: string): boolean => ofQuotas.has(name) || isHugePages(name);

export const sorted = (list: List | undefined): [string, string][] =>
  Object.entries(list ?? {}).sort(([left], [right]) => (left < right ? -1 : 1));

export function checkResourceName(errors: FieldErrors, name: string): void {
  const problems = qualifiedName(name);
  for (const problem of problems) errors.invalid(name, problem);
  if (problems.length === 0 && !name.includes("/") && !isOfQuotas(name) && name !== "storage")
    errors.invalid(name, "must be a standard resource type or fully qualified");
}
