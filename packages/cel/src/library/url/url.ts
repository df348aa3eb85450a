import { StringMap } from "../../values/maps.ts";
import { boolType, listType, mapType, stringType, structType } from "../../values/types.ts";
import { CelError, LibraryValue, type Value } from "../../values/value.ts";
import { fromBytes } from "../byte-text.ts";
import { mapping } from "../costs/cost.ts";
import { declare, type FunctionDeclaration, method, overload, priced } from "../declarations.ts";
import { escapedPath, parseUrl, queryValues, splitHost, type Url, urlProblem, urlText } from "./parser.ts";

const urlType = structType("kubernetes.URL");

class UrlValue extends LibraryValue {
  override readonly typeName = "kubernetes.URL";
  readonly url: Url;
  constructor(url: Url) {
    super();
    this.url = url;
  }
  override equals(other: UrlValue): boolean {
    return urlText(this.url) === urlText(other.url);
  }
}

function parse(text: string): Value {
  const url = parseUrl(text);
  return typeof url === "string"
    ? new CelError(`URL parse error during conversion from string: ${url}`)
    : new UrlValue(url);
}

const part = (name: string, id: string, get: (url: Url) => string): FunctionDeclaration =>
  declare(name, [method(id, [urlType], stringType, (a) => fromBytes(get((a as UrlValue).url)))]);

/** URLs (Kubernetes CEL library of 1.0). */
export const urlsLibrary: readonly FunctionDeclaration[] = [
  priced(mapping, {
    ...declare("url", [overload("string_to_url", [stringType], urlType, (a) => parse(a as string))]),
    parsesConstants: true,
  }),
  {
    ...declare("isURL", [
      overload("is_url_string", [stringType], boolType, (a) => urlProblem(a as string) === undefined),
    ]),
    parsesConstants: true,
  },
  part("getScheme", "url_get_scheme", (url) => url.scheme),
  part("getHost", "url_get_host", (url) => url.host),
  part("getHostname", "url_get_hostname", (url) => splitHost(url.host).name),
  part("getPort", "url_get_port", (url) => splitHost(url.host).port),
  part("getEscapedPath", "url_get_escaped_path", escapedPath),
  declare("getQuery", [
    method(
      "url_get_query",
      [urlType],
      mapType(stringType, listType(stringType)),
      (a) => new StringMap(queryValues((a as UrlValue).url)),
    ),
  ]),
];
