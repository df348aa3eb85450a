import type {
  Container,
  ExecAction,
  GRPCAction,
  HTTPGetAction,
  Probe,
  TCPSocketAction,
} from "../../generated/core/v1.ts";
import { isPortName, rangeProblem } from "../../names.ts";
import type { IntOrString } from "../../object.ts";
import type { FieldErrors } from "../field.ts";

export function checkPort(errors: FieldErrors, path: string, port: number): void {
  for (const problem of rangeProblem(port, 1, 65535)) errors.invalid(path, port, problem);
}

function checkPortReference(errors: FieldErrors, path: string, port: IntOrString | undefined): void {
  if (typeof port === "string") errors.check(isPortName, path, port);
  else checkPort(errors, path, port ?? 0);
}

interface Handler {
  readonly exec?: ExecAction;
  readonly httpGet?: HTTPGetAction;
  readonly tcpSocket?: TCPSocketAction;
  readonly grpc?: GRPCAction;
  readonly sleep?: { readonly seconds?: unknown };
}

/** What a probe or a hook does: exactly one thing. */
function checkHandler(errors: FieldErrors, path: string, handler: Handler): void {
  let count = 0;
  const first = (name: string): boolean => {
    count++;
    if (count > 1) errors.forbidden(`${path}.${name}`, "may not specify more than 1 handler type");
    return count === 1;
  };
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  if (exec && first("exec") && (exec.command ?? []).length === 0) errors.required(`${path}.exec.command`);
  if (httpGet && first("httpGet")) {
    if (!httpGet.path) errors.required(`${path}.httpGet.path`);
    checkPortReference(errors, `${path}.httpGet.port`, httpGet.port);
    const schemes = ["HTTP", "HTTPS"];
    if (!schemes.includes(httpGet.scheme ?? "")) {
      errors.notSupported(`${path}.httpGet.scheme`, httpGet.scheme ?? "", schemes);
    }
    (httpGet.httpHeaders ?? []).forEach(({ name }, index) => {
      if (/^[-A-Za-z0-9]+$/.test(name ?? "")) return;
      const detail =
        "a valid HTTP header must consist of alphanumeric characters or '-' " +
        "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
      errors.invalid(`${path}.httpGet.httpHeaders[${index}].name`, name ?? "", detail);
    });
  }
  if (tcpSocket && first("tcpSocket")) checkPortReference(errors, `${path}.tcpSocket.port`, tcpSocket.port);
  if (grpc && first("grpc")) checkPortReference(errors, `${path}.grpc.port`, grpc.port);
  if (sleep) first("sleep");
  if (count === 0) errors.required(path, "must specify a handler type");
}

const counts = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

export function checkProbe(
  errors: FieldErrors,
  path: string,
  probe: Probe | undefined,
  succeedsOnce: boolean,
): void {
  if (!probe) return;
  checkHandler(errors, path, probe);
  for (const name of counts) {
    const value = probe[name] ?? 0;
    if (value < 0) errors.invalid(`${path}.${name}`, value, "must be greater than or equal to 0");
  }
  if (probe.terminationGracePeriodSeconds !== undefined && probe.terminationGracePeriodSeconds <= 0) {
    const detail = "must be greater than 0";
    errors.invalid(`${path}.terminationGracePeriodSeconds`, probe.terminationGracePeriodSeconds, detail);
  }
  if (succeedsOnce && probe.successThreshold !== 1) {
    errors.invalid(`${path}.successThreshold`, probe.successThreshold ?? 0, "must be 1");
  }
}

export function checkLifecycle(errors: FieldErrors, path: string, container: Container): void {
  const { postStart, preStop } = container.lifecycle ?? {};
  if (postStart) checkHandler(errors, `${path}.postStart`, postStart as Handler);
  if (preStop) checkHandler(errors, `${path}.preStop`, preStop as Handler);
}
