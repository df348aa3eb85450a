/** The common schema of all versions in the API server's form. */
const hoisted = /^spec\.(?=(?:validation|subresources|additionalPrinterColumns)(?:[.[]|$))/;

/**
 * Returns the path of a field as it was written: if all versions of a CustomResourceDefinition have one
 * schema, the API server reports it as `spec.validation`. `like`: the path in the intended version; default:
 * the first.
 */
export function writtenPath(path: string, like?: string): string {
  if (!hoisted.test(path)) return path;
  const version = /^spec\.versions\[\d+\]/.exec(like ?? "")?.[0] ?? "spec.versions[0]";
  return path.replace(hoisted, `${version}.`).replace(`${version}.validation`, `${version}.schema`);
}
