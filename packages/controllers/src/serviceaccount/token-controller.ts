import { StatusError } from "@dray/api";
import { Secret, ServiceAccount } from "@dray/api/core/v1";
import { serviceAccountTokenSigner } from "@dray/apiserver/pki";
import { keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { refTo } from "../shared/status.ts";

export const tokenSecretType = "kubernetes.io/service-account-token";
export const accountNameAnnotation = "kubernetes.io/service-account.name";
export const accountUidAnnotation = "kubernetes.io/service-account.uid";

export interface TokenSecretOptions {
  /** Private key that signs the tokens of service accounts, PEM. */
  readonly key: string;
  /** PEM: certificate by which pods verify the API server. */
  readonly rootCA: string;
}

/**
 * Puts a token into each Secret that a user makes for a service account, and deletes the Secrets of accounts
 * that are gone.
 *
 * Upstream: pkg/controller/serviceaccount/tokens_controller.go.
 */
export async function startTokenSecretController(
  context: ControllerContext,
  { key: signingKey, rootCA }: TokenSecretOptions,
): Promise<Controller> {
  const { client, informers } = context;
  const secrets = informers.of(Secret);
  const accounts = informers.of(ServiceAccount);
  await synced(context, [secrets, accounts]);
  const sign = serviceAccountTokenSigner(signingKey);
  const queues = controllerQueues(context);
  const queue = queues.queue("serviceaccount-token", reconcile);
  const references = queues.queue("serviceaccount-token/references", dropReferences);
  const changed = (secret: Secret): void => {
    if (isTokenSecret(secret)) queue.add(keyOf(secret.metadata));
  };
  secrets.handle({
    add: changed,
    update: changed,
    delete(secret) {
      const name = secret.metadata.annotations?.[accountNameAnnotation];
      if (isTokenSecret(secret) && name)
        references.add(keyOf({ namespace: secret.metadata.namespace, name }));
    },
  });
  accounts.handle({
    delete({ metadata }) {
      for (const secret of secrets.byIndex("account", keyOf(metadata))) changed(secret);
    },
  });

  async function reconcile(key: string): Promise<void> {
    const secret = secrets.get(refOf(key));
    if (secret === undefined || !isTokenSecret(secret)) return;
    const account = await accountOf(secret);
    if (account === undefined) return remove(secret);
    const data = secret.data ?? {};
    const wanted = {
      ...data,
      ...(rootCA === "" ? {} : { "ca.crt": base64(rootCA) }),
      namespace: data["namespace"] || base64(secret.metadata.namespace),
      token: data["token"] || base64(sign(account, secret)),
    };
    if (Object.entries(wanted).every(([name, value]) => data[name] === value)) return;
    const annotations = {
      ...secret.metadata.annotations,
      [accountNameAnnotation]: account.metadata.name,
      [accountUidAnnotation]: account.metadata.uid,
    };
    await unlessOutdated(() =>
      client
        .resource(Secret)
        .update({ ...secret, metadata: { ...secret.metadata, annotations }, data: wanted }),
    );
  }

  /** The account that the Secret names, if it is still the same. */
  async function accountOf(secret: Secret): Promise<ServiceAccount | undefined> {
    const { namespace, annotations = {} } = secret.metadata;
    const { [accountNameAnnotation]: name = "", [accountUidAnnotation]: uid } = annotations;
    const isIt = (account: ServiceAccount | undefined): boolean =>
      account !== undefined && (!uid || account.metadata.uid === uid);
    const cached = accounts.get({ namespace, name });
    if (isIt(cached)) return cached;
    try {
      // The cache may be behind.
      const live = await client.resource(ServiceAccount).get({ namespace, name });
      return isIt(live) ? live : undefined;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return undefined;
      throw error;
    }
  }

  async function remove(secret: Secret): Promise<void> {
    const { uid } = secret.metadata;
    await unlessOutdated(() => client.resource(Secret).delete(refTo(secret), { preconditions: { uid } }));
  }

  /** A Secret that is gone is not named by its account any more. */
  async function dropReferences(key: string): Promise<void> {
    const account = accounts.get(refOf(key));
    if (account?.secrets === undefined) return;
    const { namespace } = account.metadata;
    const left = [];
    for (const reference of account.secrets)
      if (secrets.get({ namespace, name: reference.name ?? "" })) left.push(reference);
    if (left.length === account.secrets.length) return;
    await client.resource(ServiceAccount).update({ ...account, secrets: left });
  }

  return queues.controller;
}

function isTokenSecret({ type, metadata }: Secret): boolean {
  return type === tokenSecretType && Boolean(metadata.annotations?.[accountNameAnnotation]);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** Ignores conflicts and missing objects: the watch brings the change, and the object is queued again. */
async function unlessOutdated(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
  }
}
