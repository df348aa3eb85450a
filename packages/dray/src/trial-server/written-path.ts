/** The one schema of all versions, where the API server has it. */
const hoisted = /^spec\.(?=(?:validation|subresources|additionalPrinterColumns)(?:[.[]|$))/;

/**
 * The path of a field as it was written: where all versions of a CustomResourceDefinition have one schema,
 * the API server reports it as `spec.validation`. `like`: the path in the version that is meant, else the
 * first.
 */
export function writtenPath(path: string, like?: string): string {
  if (!hoisted.test(path)) return path;
  const version = /^spec\.versions\[\d+\]/.exec(like ?? "")?.[0] ?? "spec.versions[0]";
  return path.replace(hoisted, `${version}.`).replace(`${version}.validation`, `${version}.schema`);
}
