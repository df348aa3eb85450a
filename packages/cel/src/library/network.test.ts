import { testOutcomes } from "../testing/outcomes.ts";

testOutcomes([
  ['ip("192.168.0.1").family() == 4', true],
  ['ip("2001:db8::1") == ip("2001:0DB8::0:1")', true],
  ['string(ip("2001:db8:0:0:1:0:0:1")) == "2001:db8::1:0:0:1"', true],
  ['ip.isCanonical("2001:db8::1")', true],
  ['ip.isCanonical("2001:DB8::1")', false],
  [
    'ip.isCanonical("x")',
    'IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP',
  ],
  ['isIP("1.2.3")', false],
  ['isIP("::1.2.3.4")', true],
  ['isIP("fe80::1%eth0")', false],
  [
    'ip("01.2.3.4").family() == 4',
    'IP Address "01.2.3.4" parse error during conversion from string: ParseAddr("01.2.3.4"): IPv4 field has octet with leading zero',
  ],
  [
    'ip("1.2.3.4.5").family() == 4',
    'IP Address "1.2.3.4.5" parse error during conversion from string: ParseAddr("1.2.3.4.5"): IPv4 address too long',
  ],
  [
    'ip("1:2:3:4:5:6:7").family() == 6',
    'IP Address "1:2:3:4:5:6:7" parse error during conversion from string: ParseAddr("1:2:3:4:5:6:7"): address string too short',
  ],
  [
    'ip("1::2::3").family() == 6',
    'IP Address "1::2::3" parse error during conversion from string: ParseAddr("1::2::3"): multiple :: in address (at ":3")',
  ],
  ['ip("::ffff:1.2.3.4").family() == 6', 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'],
  ['ip("fe80::1%eth0").family() == 6', 'IP address "fe80::1%eth0" with zone value is not allowed'],
  [
    'ip("é").family() == 6',
    'IP Address "é" parse error during conversion from string: ParseAddr("é"): unable to parse IP',
  ],
  ['ip("127.1.2.3").isLoopback() && ip("::1").isLoopback()', true],
  ['ip("0.0.0.0").isUnspecified() && ip("::").isUnspecified()', true],
  ['ip("169.254.1.1").isLinkLocalUnicast() && ip("febf::1").isLinkLocalUnicast()', true],
  ['ip("224.0.0.251").isLinkLocalMulticast() && ip("ff02::1").isLinkLocalMulticast()', true],
  [
    'ip("10.0.0.1").isGlobalUnicast() && !ip("255.255.255.255").isGlobalUnicast() && !ip("239.1.1.1").isGlobalUnicast()',
    true,
  ],
  ['ip("1.2.3.4") == dyn(1)', "no such overload"],
  ['dyn(1) == ip("1.2.3.4")', false],
  ['ip("1.2.3.4") in [ip("1.2.3.4")]', true],
  ['type(ip("1.2.3.4")) == net.IP && type(cidr("::/0")) == net.CIDR', true],
  ['cidr("10.0.0.0/8").containsIP("10.1.2.3") && cidr("10.0.0.0/8").containsIP(ip("10.1.2.3"))', true],
  ['cidr("10.0.0.0/8").containsIP("::1")', false, 3],
  ['cidr("10.0.0.0/8").containsCIDR("10.0.0.0/9")', true, 5],
  ['cidr("10.0.0.0/8").containsIP("bad")', "no such overload"],
  [
    'cidr("10.0.0.0/8").containsCIDR("10.0.0.0/9") && !cidr("10.0.0.0/9").containsCIDR(cidr("10.0.0.0/8"))',
    true,
  ],
  [
    'cidr("10.0.0.0/8").containsCIDR("bad")',
    "network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"bad\"): no '/'",
  ],
  ['string(cidr("10.1.2.3/8").masked()) == "10.0.0.0/8" && cidr("10.1.2.3/8").ip() == ip("10.1.2.3")', true],
  ['cidr("2001:db8::1/33").prefixLength() == 33', true],
  [
    'cidr("10.0.0.0/33").prefixLength() == 0',
    'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range',
  ],
  [
    'cidr("10.0.0.0/08").prefixLength() == 0',
    'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/08"): bad bits after slash: "08"',
  ],
  ['isCIDR("10.0.0.0/8") && !isCIDR("10.0.0.0") && !isCIDR("::ffff:1.2.3.4/96")', true],
]);
