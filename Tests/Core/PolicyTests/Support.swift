import HTTP1
import Policy
import Testing

/// Builds a request head without a parser.
func requestHead(
  _ method: String = "GET", host: String? = "localhost:7070", absolute: String? = nil,
  fields: [(KnownField, String)] = [], named name: String? = nil
) -> RequestHead {
  var head = RequestHead()
  head.bytes = Array("\(method) / HTTP/1.1\r\n".utf8)
  head.methodRange = 0..<method.utf8.count
  head.method = methods.first { $0.0 == method }?.1 ?? .other
  func append(_ text: String) -> Range<Int> {
    let start = head.bytes.count
    head.bytes += Array(text.utf8)
    return start..<head.bytes.count
  }
  head.host = host.map(append)
  head.absoluteAuthority = absolute.map(append)
  for (known, value) in fields {
    head.fields.append(Field(name: append(name ?? "\(known)"), value: append(value), known: known))
  }
  return head
}

let methods: [(String, Method)] = [
  ("GET", .get), ("HEAD", .head), ("POST", .post), ("PUT", .put), ("DELETE", .delete), ("PATCH", .patch),
  ("OPTIONS", .options), ("TRACE", .trace), ("CONNECT", .connect),
]

let caller = Caller(uid: 1000)

func admission(_ authorities: [String]? = ["localhost:7070", "127.0.0.1:7070", "[::1]:7070"]) -> Admission {
  Admission(callers: Callers(uids: [1000]), authorities: authorities)
}

/// Returns an admitted request. A `host` is added to the names of the listener.
func admitted(listener: Int = 0, host: String? = nil) throws -> AdmittedRequest {
  guard let host else { return try admission().admit(requestHead(), caller: caller, listener: listener) }
  return try admission(["\(host):7070"]).admit(requestHead(host: "\(host):7070"), caller: caller, listener: listener)
}

func canonical(_ target: String) throws -> CanonicalTarget {
  var read = CanonicalTarget()
  try read.read(Array(target.utf8).span)
  return read
}

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

extension URLPattern {
  func matches(_ path: String) -> Bool { matches(Array(path.utf8).span) }
}

/// Returns a rule that denies, or forwards with a credential.
func rule(
  _ pattern: String, _ methods: [String] = [], deny: Bool = false, credential: CredentialChoice = .inject(0),
  isExact: Bool = false
) throws -> Rule {
  Rule(
    pattern: try URLPattern(parsing: pattern), methods: try MethodSet(methods),
    action: deny ? .deny : .forward(credential), headers: HeaderPolicy(), description: nil, line: 0,
    isExact: isExact)
}

func service(_ name: String = "s", _ mount: Mount = .path(Array("/s/".utf8)), listener: Int = 0, rules: [Rule]? = nil)
  throws -> Service
{
  var service = Service(
    name: name, listener: listener, mount: mount, upstream: try Upstream(parsing: "https://up.example.com/v1/"),
    credential: .inject(0))
  service.rules = rules
  return service
}

/// The decision about a request.
enum Outcome: Equatable {
  case route(Int, Int?, CredentialChoice)
  case refused(PolicyRefusal)
}

func decide(
  _ rules: RuleSet, _ target: String, method: String = "GET", listener: Int = 0, host: String? = nil
) throws -> Outcome {
  let request = try admitted(listener: listener, host: host)
  var trace: [RuleVerdict]?
  do throws(PolicyRefusal) {
    var read = CanonicalTarget()
    try read.read(Array(target.utf8).span)
    let known = methods.first { $0.0 == method }?.1 ?? .other
    let name = Array(method.utf8)
    let route = try rules.decide(request, method: known, methodName: name.span, target: read, trace: &trace)
    return .route(route.service, route.rule, route.credential)
  } catch {
    return .refused(error)
  }
}
