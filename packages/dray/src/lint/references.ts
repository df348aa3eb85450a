import type { PodResourceClaim, PodSpec, ServiceAccount } from "@dray/api/core/v1";
import { type PlacedPodSpec, podSpecsOf } from "@dray/api/pod";
import { systemPriorityClasses } from "@dray/apiserver/objects";
import { missingText, similarText } from "../manifests/missing.ts";
import { didYouMean } from "../text/similar.ts";
import { names } from "../text/words.ts";
import { type Finding, finding } from "./finding.ts";
import { claimSpecOf, requestsOf } from "./requests.ts";
import { isComplete, isGiven, type LintContext, objectOf, type Subject } from "./subjects.ts";

/**
 * Checks references of objects: claims, templates, classes, requests, namespaces, priority classes, accounts.
 */
export function checkReferences(context: LintContext): Finding[] {
  const accounts = accountsOf(context.subjects);
  const ofSubjects = context.subjects.flatMap((subject) => {
    const object = objectOf(subject);
    const namespaced = checkNamespace(context, subject);
    if (object === undefined || isOver(object)) return namespaced;
    const specs = podSpecsOf(object);
    return [
      ...namespaced,
      ...specs.flatMap((placed) => [
        ...checkClaims(context, subject, placed),
        ...checkContainers(context, subject, placed),
        ...(subject.stored ? [] : checkNames(context, subject, placed, accounts)),
      ]),
    ];
  });
  return [...checkClasses(context), ...ofSubjects];
}

/** An ended pod needs no other objects. */
const isOver = (object: object): boolean =>
  ["Succeeded", "Failed"].includes((object as { status?: { phase?: string } }).status?.phase ?? "");

function checkNamespace({ cluster, world, subjects }: LintContext, subject: Subject): Finding[] {
  const { namespace } = subject;
  if (namespace === undefined || subject.stored) return [];
  // Only a cluster has all of its namespaces.
  const known = cluster.all("Namespace").map(({ object }) => object.metadata.name);
  if (known.length === 0 || world.find("Namespace", namespace) !== undefined) return [];
  if (subjects.some(({ draft, label }) => draft.kind === "Namespace" && label === `Namespace ${namespace}`))
    return [];
  const hint = didYouMean(namespace, known) ?? `known: ${names(known)}`;
  return [
    finding("missing-namespace", subject, "metadata.namespace", {
      message: `there is no Namespace "${namespace}"`,
      hints: [hint],
    }),
  ];
}

/** Kinds of classes, in all versions. */
const classKinds = ["DeviceClass", "ResourceClass"];
/** Hint where a cluster may have the missing object. */
const elsewhere = ["a cluster may have it: --live or --cluster FILE looks there"];

/** Unless all classes are known, the cluster may have them: reported once for each class. */
function checkClasses(context: LintContext): Finding[] {
  const { world, subjects } = context;
  if (!world.isReadable("DeviceClass")) return [];
  const missing = subjects.flatMap((subject) => {
    const object = objectOf(subject);
    const placed = object && claimSpecOf(object);
    return placed === undefined
      ? []
      : requestsOf(placed.spec, placed.path).flatMap(({ body: { deviceClassName: name }, path }) =>
          !name ||
          world.find("DeviceClass", name) !== undefined ||
          isGiven(context, classKinds, undefined, name)
            ? []
            : [{ subject, name, path: `${path}.deviceClassName` }],
        );
  });
  const text = (name: string): string => missingText(world, "DeviceClass", undefined, name);
  if (isComplete(context, "DeviceClass"))
    return missing.map(({ subject, name, path }) =>
      finding("missing-class", subject, path, { message: text(name) }),
    );
  return [...Map.groupBy(missing, ({ name }) => name)].map(([name, all]) => {
    const { subject, path } = all[0]!;
    const details = all.length > 1 ? [`${all.length} requests name it`] : [];
    const found = finding("missing-class", subject, path, { message: text(name), details, hints: elsewhere });
    return { ...found, severity: "warning" };
  });
}

/** A reference of a pod to a claim or template that is missing. */
interface MissingReference {
  readonly kind: "ResourceClaim" | "ResourceClaimTemplate";
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
}

/** Returns the finding about a missing claim or template; none if the manifests have it with mistakes. */
function missingReference(
  context: LintContext,
  subject: Subject,
  { kind, namespace, name, path }: MissingReference,
): Finding[] {
  const { world } = context;
  if (!world.isReadable(kind) || isGiven(context, [kind], namespace, name)) return [];
  const isClaim = kind === "ResourceClaim";
  const other = isClaim ? "ResourceClaimTemplate" : "ResourceClaim";
  const field = isClaim ? "resourceClaimTemplateName" : "resourceClaimName";
  const isOther =
    world.find(other, `${namespace}/${name}`) !== undefined || isGiven(context, [other], namespace, name);
  const isMistake = isOther || similarText(world, kind, namespace, name) !== undefined;
  const hints = isOther ? [`"${name}" is a ${other}: write ${field}: ${name}`] : [];
  const message = missingText(world, kind, namespace, name);
  const rule = isClaim ? "missing-claim" : "missing-template";
  // The cluster may have it, unless the name is probably a mistake.
  if (isMistake || isComplete(context, kind)) return [finding(rule, subject, path, { message, hints })];
  return [{ ...finding(rule, subject, path, { message, hints: elsewhere }), severity: "warning" }];
}

function checkClaims(context: LintContext, subject: Subject, { spec, path }: PlacedPodSpec): Finding[] {
  const { world } = context;
  const namespace = subject.namespace ?? "default";
  const found: Finding[] = [];
  (spec.resourceClaims ?? []).forEach((entry, i) => {
    const at = `${path}.resourceClaims[${i}]`;
    const { resourceClaimName: claim, resourceClaimTemplateName: template } = entry;
    const report = (kind: MissingReference["kind"], name: string, field: string): void => {
      const reference = { kind, namespace, name, path: `${at}.${field}` };
      for (const each of missingReference(context, subject, reference)) found.push(each);
    };
    if (claim !== undefined && world.find("ResourceClaim", `${namespace}/${claim}`) === undefined)
      report("ResourceClaim", claim, "resourceClaimName");
    // The claim of a stored pod exists already.
    if (template === undefined || hasStatus(subject, entry)) return;
    if (world.find("ResourceClaimTemplate", `${namespace}/${template}`) === undefined)
      report("ResourceClaimTemplate", template, "resourceClaimTemplateName");
  });
  return [...found, ...checkBinding({ world }, subject, { spec, path })];
}

function hasStatus(subject: Subject, { name }: PodResourceClaim): boolean {
  const { status } = objectOf(subject) as { status?: { resourceClaimStatuses?: { name: string }[] } };
  return subject.stored && (status?.resourceClaimStatuses ?? []).some((each) => each.name === name);
}

/** The scheduler ignores pods with a node. */
function checkBinding(
  { world }: Pick<LintContext, "world">,
  subject: Subject,
  { spec, path }: PlacedPodSpec,
): Finding[] {
  if (subject.stored || !spec.nodeName) return [];
  const open = (spec.resourceClaims ?? []).find(({ resourceClaimName: name }) => {
    const claim =
      name === undefined ? undefined : world.find("ResourceClaim", `${subject.namespace}/${name}`);
    return claim?.status?.allocation === undefined;
  });
  if (open === undefined) return [];
  const message = `the pod is bound to node ${spec.nodeName}, so its claim "${open.name}" will not be allocated: the scheduler looks only at pods without a node`;
  const hints = ["a nodeSelector for kubernetes.io/hostname leaves the choice of devices to the scheduler"];
  return [finding("bypasses-scheduler", subject, `${path}.nodeName`, { message, hints })];
}

/** Checks containers and the requests of their claims: a missing name gives no device, without an error. */
function checkContainers(context: LintContext, subject: Subject, { spec, path }: PlacedPodSpec): Finding[] {
  const namespace = subject.namespace ?? "default";
  const entries = spec.resourceClaims ?? [];
  const found: Finding[] = [];
  const used = new Set<string>();
  for (const list of ["initContainers", "containers"] as const) {
    (spec[list] ?? []).forEach(({ name: container, resources }, i) => {
      (resources?.claims ?? []).forEach(({ name, request }, j) => {
        used.add(name);
        const entry = entries.find((each) => each.name === name);
        if (request === undefined || entry === undefined) return;
        const requests = requestNames(context, namespace, entry);
        if (requests === undefined || requests.includes(request)) return;
        const at = `${path}.${list}[${i}].resources.claims[${j}].request`;
        const message = `claim "${name}" has no request "${request}": container ${container} gets no device`;
        const known = requests.length === 0 ? "it has no requests" : `its requests are ${names(requests)}`;
        found.push(finding("unknown-request", subject, at, { message, details: [known] }));
      });
    });
  }
  entries.forEach(({ name }, i) => {
    if (used.has(name)) return;
    const message = `no container names claim "${name}": its devices are prepared for the pod, and no container gets them, which only suits drivers that act on the pod, such as those of networks`;
    found.push(finding("unused-claim", subject, `${path}.resourceClaims[${i}]`, { message }));
  });
  return found;
}

/**
 * Returns the names of the requests; undefined if the claim is missing, or has mistakes that may hide some.
 */
function requestNames(
  { world, subjects }: LintContext,
  namespace: string,
  { resourceClaimName: claim, resourceClaimTemplateName: template }: PodResourceClaim,
): string[] | undefined {
  const found =
    claim !== undefined
      ? world.find("ResourceClaim", `${namespace}/${claim}`)
      : world.find("ResourceClaimTemplate", `${namespace}/${template}`);
  const own = subjects.find(({ decoded }) => decoded !== undefined && decoded.object === found);
  if (found === undefined || (own?.problems.length ?? 0) > 0) return undefined;
  const spec = claimSpecOf(found)?.spec;
  return spec && (spec.devices?.requests ?? []).map(({ name }) => name);
}

/** Returns the names of service accounts among the manifests, by namespace. */
function accountsOf(subjects: readonly Subject[]): ReadonlyMap<string, readonly string[]> {
  const accounts = subjects.flatMap((subject) => {
    const object = objectOf(subject);
    return object?.kind === "ServiceAccount" && object.metadata.name
      ? [(object as ServiceAccount).metadata]
      : [];
  });
  const groups = Map.groupBy(accounts, ({ namespace }) => namespace);
  return new Map([...groups].map(([namespace, all]) => [namespace, all.map(({ name }) => name)]));
}

function checkNames(
  context: LintContext,
  subject: Subject,
  { spec, path }: { readonly spec: PodSpec; readonly path: string },
  accounts: ReadonlyMap<string, readonly string[]>,
): Finding[] {
  const { world } = context;
  const found: Finding[] = [];
  const { priorityClassName: priority, serviceAccountName: account } = spec;
  const classes = [
    ...systemPriorityClasses.map(({ name }) => name),
    ...world.all("PriorityClass").map(({ object }) => object.metadata.name),
  ];
  const isUnknown = !classes.includes(priority ?? "") && world.isReadable("PriorityClass");
  if (priority && isUnknown && !isGiven(context, ["PriorityClass"], undefined, priority)) {
    const message = `there is no PriorityClass "${priority}": its pods would be refused`;
    const hint = didYouMean(priority, classes) ?? `known: ${names(classes)}`;
    found.push(
      finding("missing-priority-class", subject, `${path}.priorityClassName`, { message, hints: [hint] }),
    );
  }
  const known = accounts.get(subject.namespace ?? "default");
  if (account && account !== "default" && known !== undefined && !known.includes(account)) {
    const message = `there is no ServiceAccount "${account}" among those of namespace ${subject.namespace}`;
    const hint = didYouMean(account, known) ?? `known: ${names(known)}`;
    found.push(
      finding("missing-service-account", subject, `${path}.serviceAccountName`, { message, hints: [hint] }),
    );
  }
  return found;
}
