import { testOutcomes } from "../../testing/outcomes.ts";

testOutcomes([
  ['url("https://user:pass@example.com:8080/a%20b?x=1#y").getHost() == "example.com:8080"', true],
  ['url("HTTPS://example.com").getScheme() == "https"', true],
  ['url("https://example.com:8080").getHostname() == "example.com"', true],
  ['url("https://example.com:8080").getPort() == "8080"', true],
  ['url("https://[2001:db8::1]:80").getHostname() == "2001:db8::1"', true],
  ['url("https://[fe80::1%25en0]/").getHost() == "[fe80::1%en0]"', true],
  ['url("https://a/b c/%7e/[x]").getEscapedPath() == "/b%20c/~/%5Bx%5D"', true],
  ['url("https://a?x=1&y=2&x=a+b%21&z").getQuery() == {"x": ["1", "a b!"], "y": ["2"], "z": [""]}', true],
  ['url("https://a?%zz=1&b;c=2&d=3").getQuery() == {"d": ["3"]}', true],
  ['url("mailto:a@b.c").getHost() == ""', true],
  ['isURL("/a/b") && isURL("https://a") && isURL("x:y")', true],
  ['isURL("a/b") || isURL("") || isURL("1a:b") || isURL("https://a:b")', false],
  [
    'url("a").getHost() == ""',
    'URL parse error during conversion from string: parse "a": invalid URI for request',
  ],
  [
    'url("https://a:b").getHost() == ""',
    'URL parse error during conversion from string: parse "https://a:b": invalid port ":b" after host',
  ],
  [
    'url("https://a:1:2").getHost() == ""',
    'URL parse error during conversion from string: parse "https://a:1:2": invalid port ":1:2" after host',
  ],
  [
    'url("https://[::1").getHost() == ""',
    "URL parse error during conversion from string: parse \"https://[::1\": missing ']' in host",
  ],
  [
    'url("https://a b").getHost() == ""',
    'URL parse error during conversion from string: parse "https://a b": invalid character " " in host name',
  ],
  [
    'url("https://a%41").getHost() == ""',
    'URL parse error during conversion from string: parse "https://a%41": invalid URL escape "%41"',
  ],
  [
    'url("/a%zz").getHost() == ""',
    'URL parse error during conversion from string: parse "/a%zz": invalid URL escape "%zz"',
  ],
  [
    'url("/a#%zz").getHost() == ""',
    'URL parse error during conversion from string: parse "/a#%zz": invalid URL escape "%zz"',
  ],
  [
    'url("a\\u0001").getHost() == ""',
    'URL parse error during conversion from string: parse "a\\x01": net/url: invalid control character in URL',
  ],
  [
    'url(":a").getHost() == ""',
    'URL parse error during conversion from string: parse ":a": missing protocol scheme',
  ],
  [
    'url("https://u%zz@a").getHost() == ""',
    'URL parse error during conversion from string: parse "https://u%zz@a": invalid URL escape "%zz"',
  ],
  [
    'url("https://[g::]").getHost() == ""',
    'URL parse error during conversion from string: parse "https://[g::]": invalid host: ParseAddr("g::"): each colon-separated field must have at least one digit (at "g::")',
  ],
  ['url("https://a/%41") == url("https://a/A")', false],
  ['url("https://u@a") == url("https://u:@a")', false],
  ['url("https:///a") == url("https:/a")', false],
  ['url("https://a") == dyn(1)', "no such overload"],
]);
