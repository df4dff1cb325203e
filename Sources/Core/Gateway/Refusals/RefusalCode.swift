/// The code of a refusal by bearerd, and not by the upstream: one for each `type`.
///
/// A code is one case here and its row below; everything else that there is to say of a code is read from the row: the
/// answer, log and metrics, `bearerctl errors`, `docs/errors.md`. The order is that of the page, by who refused. Raw values are
/// places in arrays of counters, and not stable from build to build; the names in the rows are.
package enum RefusalCode: UInt8, Error, CaseIterable, Sendable {
  case malformedRequest
  case reservedFieldInConnection
  case requestTimeout
  case targetTooLong
  case unknownExpectation
  case headTooLarge
  case unknownTransferCoding
  case versionNotSupported
  case callerNotAllowed
  case callerUnknown
  case clientUnknown
  case clientNotAllowed
  case originNotAllowed
  case crossSite
  case siteUnknown
  case methodNotSupported
  case hostNotAllowed
  case authorityMismatch
  case tooManyConnections
  case tooManyRequests
  case badPath
  case badEscape
  case dotSegment
  case forbiddenCharacter
  case fragment
  case ambiguousPath
  case clientCredentialField
  case clientTokenLeft
  case badDestination
  case destinationDenied
  case noRule
  case denied
  case noService
  case rateLimited
  case formTooLarge
  case credentialUnavailable
  case tokenUnavailable
  case loginRequired
  case loggedOut
  case credentialSuspended
  case grantDenied
  case nameNotFound
  case nameLookupFailed
  case nameTimeout
  case addressForbidden
  case connectionRefused
  case connectionFailed
  case connectionTimeout
  case handshakeFailed
  case handshakeTimeout
  case certificateInvalid
  case certificateExpired
  case hostnameMismatch
  case pinMismatch
  case pinsExpired
  case upstreamClosed
  case upstreamMalformed
  case upstreamTimeout
  case credentialRejected
  case encodedAnswer
  case redirectToSelf
  case unrequestedUpgrade
  case tooManyInformational
  case draining
  case listenerRemoved
  case auditUnavailable
  case internalError
}

extension RefusalCode {
  /// The code that ends a `type`; nil: there is no such one.
  package init?(named name: String) {
    guard let found = RefusalCode.allCases.first(where: { $0.row.code.description == name }) else { return nil }
    self = found
  }

  package var refuser: Refuser { row.refuser }

  /// All that there is to say of a code. Texts are fixed: nothing that a request, an upstream or a file contains gets into one.
  package var row: RefusalRow {
    switch self {
    case .malformedRequest:
      RefusalRow(
        .parser, 400, "malformed-request", "http_request_error",
        "The request is not valid HTTP/1.1",
        what: """
          The bytes are not a valid HTTP/1.1 request, or other servers could interpret them differently. `reason` in \
          the body and in the log says what is wrong; the list is below. `line` is the number of the line, the request \
          line being 1. If a space ends the request-target too early, `position` is its byte there. bearerd closes the \
          connection, because it cannot know where the next request begins.
          """,
        todo: """
          Correct the program. If it is a well-known one, look for something between it and bearerd that changes \
          requests; a program that speaks TLS or HTTP/2 to a port for plain HTTP/1.1 gets this answer too: the base \
          URL begins with `http://`.
          """)
    case .reservedFieldInConnection:
      RefusalRow(
        .parser, 400, "reserved-field-in-connection", "http_request_error",
        "The Connection field names a field that may not be removed",
        what: """
          The `Connection` field of the request names a field that may not be removed on the way, such as \
          `Authorization` or `Host`. Obeying would let a program take out what bearerd puts in.
          """,
        todo: "Correct the program: `Connection` lists `close`, `keep-alive` and fields that end at the next hop.")
    case .requestTimeout:
      RefusalRow(
        .parser, 408, "request-timeout", "http_request_error",
        "The request did not arrive in time",
        what: """
          The request began, and its head or the next piece of its body did not arrive in time; or the body came, \
          but at less than `limits.client_body_rate` over as long as `timeouts.body_silence` (10 minutes if that is none). \
          `key` in the body, and `detail` in the log, name the limit that was reached.
          """,
        todo: """
          See why the program stops. Should it be slow by nature, raise `limits.client_head` for the head, or \
          `timeouts.body_silence` of the service for the body, or lower `limits.client_body_rate`.
          """)
    case .targetTooLong:
      RefusalRow(
        .parser, 414, "target-too-long", "http_request_error",
        "The request-target is too long",
        what: """
          The path and query of the request are longer than `limits.target`, 16 KiB unless you say otherwise. `limit` in \
          the body is the limit in bytes.
          """,
        todo: "Send long parameters in a body, or raise `limits.target`.")
    case .unknownExpectation:
      RefusalRow(
        .parser, 417, "unknown-expectation", "http_request_error",
        "Only the expectation 100-continue is known here",
        what: """
          The `Expect` field asks for something other than `100-continue`, which is all that there is (RFC 9110, \
          10.1.1).
          """,
        todo: "Leave the field out.")
    case .headTooLarge:
      RefusalRow(
        .parser, 431, "head-too-large", "http_request_error",
        "The request's fields are too large or too many",
        what: """
          The fields of the request, or its trailers, are larger than `limits.head` (64 KiB) or more than \
          `limits.fields` (128). In the body, `key` says which limit it was, and `limit` how large it is.
          """,
        todo: "See what grew: mostly cookies or a token that is no token. Or raise the limit.")
    case .unknownTransferCoding:
      RefusalRow(
        .parser, 501, "unknown-transfer-coding", "http_request_error",
        "Only the chunked transfer coding is known here",
        what: "The request has a `Transfer-Encoding` other than `chunked`.",
        todo: "Compress with `Content-Encoding`, which is passed on, and send the body chunked or with its length.")
    case .versionNotSupported:
      RefusalRow(
        .parser, 505, "version-not-supported", "http_request_error",
        "Only HTTP/1.0 and HTTP/1.1 are spoken here",
        what: "The request line names a version of HTTP other than 1.0 and 1.1.",
        todo: "Have the program speak HTTP/1.1. HTTP/2 is not spoken on this side, not even without TLS.")
    case .callerNotAllowed:
      RefusalRow(
        .admission, 403, "caller-not-allowed", "http_request_denied",
        "This user may not ask here; allow_users says who may, and the log of bearerd names the line to add",
        what: """
          The kernel says which user opened the connection, and `allow_users` and `allow_groups` (of the listener, \
          of the service or of the credential) do not list that user. Which of them it was is not told to the \
          caller.
          """,
        todo: """
          The log has a line with `refused=caller-not-allowed` whose `help` is the line to add. If the user should \
          not be let in, there is nothing to do. Root is a user like any other.
          """)
    case .callerUnknown:
      RefusalRow(
        .admission, 403, "caller-unknown", "http_request_denied",
        "The system could not say which user is asking; connect again, from this machine",
        what: """
          The kernel could not say who opened this connection: it comes from another network namespace (a \
          container), was redirected on its way, or its other end was closed already.
          """,
        todo: """
          Ask from a program on this machine, or give the container the Unix socket of a listener: over that, the \
          kernel always knows.
          """)
    case .clientUnknown:
      RefusalRow(
        .admission, 403, "client-unknown", "http_request_denied",
        "This listener wants a client token that it knows; send it where the API's key goes, as in Authorization: Bearer",
        what: """
          The listener has `clients`, so each request needs the token of one of them, and none came, or a key that \
          is no such token, or one that is nobody's. The upstream was not asked.
          """,
        todo: """
          Give the program a client token where its API key would go: as the key of its SDK, in `Authorization: \
          Bearer`, in `X-Api-Key`, or as the password of `Basic`. It is taken out of the request before it goes on. \
          `bearerctl token NAME` makes one and prints the line for `clients`. The log says which of these it was. \
          git sends a password only when it is asked for one, which bearerd does not do: `git config \
          http.extraHeader "Authorization: Bearer …"`.
          """)
    case .clientNotAllowed:
      RefusalRow(
        .admission, 403, "client-not-allowed", "http_request_denied",
        "This client may not ask here; allow_clients says who may, and the log of bearerd names the line to add",
        what: "`allow_clients` of the service or of the credential does not name the client whose token came.",
        todo: """
          The log has a line with `refused=client-not-allowed` whose `help` names the line. If the client should not \
          be let in, there is nothing to do.
          """)
    case .originNotAllowed:
      RefusalRow(
        .admission, 403, "origin-not-allowed", "http_request_denied",
        "The request has an Origin field, so a web page sent it, and its origin is not listed under browsers of the listener",
        what: """
          The request has an `Origin` field, so a web page sent it. Pages may not use credentials, whichever user \
          the browser runs as (T2), but for those whose origin stands in `browsers` of the listener. Editors and \
          desktop programs that show pages have origins such as `app://obsidian.md`, which can be listed. `null` is \
          the origin of pages that have none of their own, such as files, and cannot be listed.
          """,
        todo: """
          If the page is yours, add its origin: the answer's `add` is the line, and the log has it together with the \
          origins that are listed already. If a program adds `Origin` by itself, it can mostly be told not to.
          """)
    case .crossSite:
      RefusalRow(
        .admission, 403, "cross-site", "http_request_denied",
        "The request has a Sec-Fetch-Site field, so a web page sent it, and it does not say which: it has no Origin field",
        what: """
          The request has a `Sec-Fetch-Site` field with another value than `none`, so a web page sent it, and no \
          `Origin`, so that nobody can say which page it was. Links, frames and plain images are like that. They do \
          not get through for pages that are listed either: anybody whom such a page refers to could send them back \
          here by a redirect (T2).
          """,
        todo: """
          In a page that is listed, use `fetch` (not with `no-cors`), or write `crossorigin` into the element. \
          Typing the address into the browser works, for looking at something.
          """)
    case .siteUnknown:
      RefusalRow(
        .admission, 403, "site-unknown", "http_request_denied",
        "The request looks like a browser's, and by this name a browser does not say which page it is for; use localhost",
        what: """
          The request came by a name from `hosts` that is not localhost, and it looks like a browser's: `User-Agent` \
          begins with `Mozilla/` and names `AppleWebKit/`, `Gecko/` or `Firefox/`, or there is an `Accept-Language` \
          beside it. To such a name a browser sends no `Sec-Fetch-Site`, and with links, frames and images no \
          `Origin` either, so that nobody can say whether a page is behind it (T2).
          """,
        todo: """
          In a browser, use `localhost`, `127.0.0.1` or a name that ends in `.localhost`, with the listener's port: \
          to these it says where a request comes from. A program that calls itself a browser can mostly be told to \
          send another `User-Agent`. Or give the listener `clients`: no page has their tokens, and nothing is \
          guessed.
          """)
    case .methodNotSupported:
      RefusalRow(
        .admission, 405, "method-not-supported", "http_request_denied",
        "TRACE, TRACK and CONNECT do not pass here",
        what:
          "TRACE and TRACK would send the credential back in a body, and CONNECT would be a tunnel past every rule.",
        todo: """
          Use another method. A program that sends CONNECT takes bearerd for a forward proxy: give it a base URL \
          instead.
          """)
    case .hostNotAllowed:
      RefusalRow(
        .admission, 421, "host-not-allowed", "http_request_denied",
        "The Host field does not name this listener; use localhost, or add the name to hosts of the listener",
        what: """
          The `Host` field is none of the listener's names. That is how a web page under a foreign name would reach \
          this port (DNS rebinding, T1). On a loopback listener, `localhost` and the loopback addresses are its names, \
          with any port and without one, so that a tunnel such as `ssh -L 9000:localhost:7070` works. A service with \
          `at: localhost:PORT` answers only under its own port.
          """,
        todo: """
          Call the listener `localhost`. Where a program has to call it something else, such as \
          `host.docker.internal:7070`, add that to `hosts` of the listener. It is for programs: browsers are refused \
          by such a name, as `site-unknown`.
          """)
    case .authorityMismatch:
      RefusalRow(
        .admission, 421, "authority-mismatch", "http_request_denied",
        "The request-target names another authority than this listener; bearerd is no general proxy: its URLs name bearerd",
        what: """
          The request line holds a whole URL, and it names another server than this listener. The program takes \
          bearerd for a forward proxy.
          """,
        todo: "Unset `http_proxy` for this program, and give it the service's local address as its base URL.")
    case .tooManyConnections:
      RefusalRow(
        .admission, 429, "too-many-connections", "http_request_denied",
        "This user has as many connections open as one may have; close some, or raise connections_per_user of limits",
        what: """
          The user who connected has as many connections open as one user may have (`limits.connections_per_user`). \
          The new one was closed before anything was read from it, so that there is room for others. Users whom the \
          listener does not admit count as one, all together, and get an eighth of all connections; a connection \
          over a network is one of theirs until a client token has come.
          """,
        todo: """
          See which program opens so many: `ss -tnp` shows them. One that keeps connections and uses each once wants \
          a pool. Or raise `limits.connections_per_user`.
          """)
    case .tooManyRequests:
      RefusalRow(
        .admission, 429, "too-many-requests", "http_request_denied",
        "This user has as many requests under way as one may have; wait for some, or raise requests_per_user of limits",
        what: """
          The user who asks has as many requests under way as one user may have (`limits.requests_per_user`). \
          WebSockets, and answers that are still being read, count. Nothing was sent; the same request may be sent \
          again.
          """,
        todo: "Ask for less at once, or raise `limits.requests_per_user`.")
    case .badPath:
      RefusalRow(
        .rules, 400, "bad-path", "http_request_error",
        "The path of the request-target is not valid",
        what: "The request line has no path that begins with a slash.",
        todo: "Correct the program's URL.")
    case .badEscape:
      RefusalRow(
        .rules, 400, "bad-escape", "http_request_error",
        "The path has a broken percent-escape",
        what: "The path has a `%` without two hexadecimal digits behind it.",
        todo: "Escape the path once and whole; a literal percent sign is `%25`.")
    case .dotSegment:
      RefusalRow(
        .rules, 400, "dot-segment", "http_request_error",
        "The path has a .. segment, or one of dots that are escaped or have parameters",
        what: """
          The path has a segment `..`, or has a dot segment as soon as it is read as some upstreams would (`%2e`, \
          `..;x`, `%2F..`). It could lead out of what the rules have allowed (T12). A plain `.` is removed, as \
          browsers do.
          """,
        todo: "Have the program resolve its paths before it asks. There is no setting that lets these through.")
    case .forbiddenCharacter:
      RefusalRow(
        .rules, 400, "forbidden-character", "http_request_error",
        "The request-target has a character that may not stand there",
        what: """
          The path has a backslash, `"`, `<` or `>`, a control character or the escape of one; or the query has a \
          control character. In the body, `character` names it, `position` is its byte in the request-target, the \
          first being 1, and `escape` is how it is written in a URL. The log has the same as `detail`. Bytes outside \
          ASCII, `[ ] { } | ^` and the backquote are percent-encoded and pass, and so does everything but control \
          characters in a query.
          """,
        todo: """
          Have the program percent-escape it. A plain backslash is a slash to some servers and a character to others, \
          so that only its escape passes, where the rules decide both readings in the same way. Control characters \
          pass in no form within the path.
          """)
    case .fragment:
      RefusalRow(
        .rules, 400, "fragment", "http_request_error",
        "The request-target has a fragment",
        what: "The URL in the request line has a `#`. Fragments are for browsers and never sent.",
        todo: "Escape it as `%23` if it belongs to the path or the query, else leave it out.")
    case .ambiguousPath:
      RefusalRow(
        .rules, 400, "ambiguous-path", "http_request_denied",
        "The path can be read in several ways, and the rules decide them differently",
        what: """
          The path has `%2F`, `%5C`, `//` or `;`, which servers read differently, and your rules would decide one reading \
          otherwise than another (T12).
          """,
        todo: """
          `bearerctl explain METHOD URL` shows the decision. Ask without these characters, or write the rules so \
          that all readings fall under the same one.
          """)
    case .clientCredentialField:
      RefusalRow(
        .rules, 400, "client-credential-field", "http_request_denied",
        "The request carries a credential of its own that on_client_header does not let through here",
        what: """
          The program sends a credential field of its own, and the service or the rule says `on_client_header: \
          reject`. Its value was not looked at.
          """,
        todo: """
          Take the key out of the program; that is what bearerd is for. Or choose `replace`, by which it is removed \
          and ours put in its place.
          """)
    case .clientTokenLeft:
      RefusalRow(
        .rules, 400, "client-token-left", "http_request_denied",
        "A client token is in a part of the request that goes to the upstream; send it only where the API's key goes",
        what: """
          The request has a client token, and a text of the same form (`bearerd_` and 43 characters) is in another part \
          of the head that would go to the upstream: the path, the query, a cookie, `Referer`, a subprotocol or some other \
          field. bearerd sent nothing, because the token is for bearerd only.
          """,
        todo: """
          Send the token in `Authorization`, `X-Api-Key` or another field for keys, and nowhere else. Some SDKs also write \
          their key into the URL: give them another key there, or use the Unix socket of a listener without `clients`.
          """)
    case .badDestination:
      RefusalRow(
        .rules, 400, "bad-destination", "http_request_error",
        "The Destination field, or a tag of the If field, cannot be read as a place of this service",
        what: """
          A WebDAV request names a second place, in `Destination` or in a tag of `If`, and bearerd cannot read it: \
          it is no URL or path, or has what a path may not have.
          """,
        todo: "Name the place as the program names the target: a path, or a URL of the same listener.")
    case .destinationDenied:
      RefusalRow(
        .rules, 403, "destination-denied", "http_request_denied",
        "The Destination field, or a tag of the If field, leads out of this service, or to where its rules do not let this request go",
        what: """
          A WebDAV request names a second place, in `Destination` or in a tag of `If`, which is of another service, \
          or to which the rules do not let this request go. It is decided like the target itself, so that a MOVE \
          leads nowhere that a PUT would not (T12).
          """,
        todo: """
          `bearerctl explain METHOD URL -H 'Destination: …'` shows the decision. If the request should pass, write a \
          rule that lets this method go to that place.
          """)
    case .noRule:
      RefusalRow(
        .rules, 403, "no-rule", "http_request_denied",
        "No rule of this service allows this request; bearerctl explain shows why each one did not match",
        what: """
          The service has rules, and none of them matches this method and path. Where rules stand, they are \
          everything.
          """,
        todo: """
          `bearerctl explain METHOD URL` says of each rule why it does not match. If the request should pass, add a \
          rule for it and `bearerctl reload`.
          """)
    case .denied:
      RefusalRow(
        .rules, 403, "denied", "http_request_denied",
        "A rule of this service denies this request; bearerctl explain shows which one",
        what: "The first rule of the service that matches has `deny: true`.",
        todo: "`bearerctl explain METHOD URL` says which one, with its line. Somebody meant it.")
    case .noService:
      RefusalRow(
        .rules, 404, "no-service", "http_request_denied",
        "No service stands at this path; services are found by what their at says, such as /github/",
        what: "No service of this listener stands at this path, host or port.",
        todo: """
          Compare the URL with the `at` of your services (`/NAME/` by default), and with their `listener`: on \
          another one they are not to be found. `bearerctl status` lists them.
          """)
    case .rateLimited:
      RefusalRow(
        .rules, 429, "rate-limited", "http_request_denied",
        "This caller has asked as often as the rate of the service or the rule allows; nothing was sent",
        what: """
          The service, or the rule that decided, has a `rate`, and this caller has sent as many requests as it \
          allows. A caller is a user, or the client of a token, or both where both are asked for. Nothing was sent. \
          The members `rate` and `of` of the answer say which limit it is, and `Retry-After` when there is one more.
          """,
        todo: """
          Ask less often, or later: of `60/m` sixty are there at once, and then one comes back each second. \
          `bearerctl explain METHOD URL` says what is left. If the program is right to ask so often, raise the \
          `rate`.
          """)
    case .formTooLarge:
      RefusalRow(
        .rules, 413, "form-too-large", "http_request_error",
        "The parameters of the form are signed together with the request, and there are more than 64 KiB of them",
        what: """
          The credential signs requests (`oauth1`), and the parameters of a form with them, so bearerd waits until \
          all of a form is there. It holds 64 KiB of one. Other bodies are not signed, and may have any length.
          """,
        todo: "Let the program send what is large as `multipart/form-data` or JSON, if the API takes that.")
    case .credentialUnavailable:
      RefusalRow(
        .keyring, 503, "credential-unavailable", "proxy_configuration_error",
        "The credential is not available; nothing was sent. The log of bearerd says why",
        what: """
          The credential that the rule asks for has no usable secret: the file is missing, empty, open to others or \
          no clean text, or others could exchange a directory or link that leads to it; the systemd credential was \
          not passed; the variable is not set. Nothing was sent in its place.
          """,
        todo: """
          `bearerctl status` and the log (`event=credential-unavailable`) say which source it is and what is wrong \
          with it. Once the file is right, the next request uses it, without a reload.
          """)
    case .tokenUnavailable:
      RefusalRow(
        .keyring, 503, "token-unavailable", "proxy_configuration_error",
        "The credential's token endpoint gave no token; nothing was sent. bearerctl status says why",
        what: """
          The credential's tokens come from a token endpoint (`oauth2`) or a login (`login`), the last one is used \
          up, and there is no new one: the endpoint could not be reached, proved another key than its pins, answered \
          with an error, or not in time; or the refresh token that it gave could not be written down. Nothing was \
          sent without a token. `Retry-After` says when the endpoint may be asked again. The answer's `reason` is \
          `no-token`, `not-stored` where the refresh token could not be written, or `token-storm`: five tokens were \
          asked for within thirty seconds, all of them rejected or good for less than two seconds.
          """,
        todo: """
          `bearerctl status` and the log (`event=token-failed`) say what is in the way. Once it is gone, the first \
          request after `Retry-After` asks again, without a reload.
          """)
    case .loginRequired:
      RefusalRow(
        .keyring, 503, "login-required", "proxy_configuration_error",
        "Somebody has to log in before anything can go out with this credential; nothing was sent",
        what: """
          A person has to log in: nobody has yet; or somebody has logged out (`bearerctl logout`); or the \
          credential's token endpoint has said that the refresh token is worth nothing any more (`invalid_grant`), \
          because it was revoked, has expired, or was used elsewhere. It is not asked again with the same one. Or \
          its login URL (`login`) has answered 401: the name or the password is wrong. Nothing was sent without a \
          token.
          """,
        todo: """
          `bearerctl login CREDENTIAL`, if its grant is `device_code` or `authorization_code`. With `refresh_token`, \
          get a new one from the server, and write it into the file that `refresh_token` of the credential's \
          `oauth2` names. The next request uses it, without a reload. If this happens often, see whether something \
          else uses the same login. A right password, in the file that `login` names, is used at once. A credential \
          that was logged out and is no login comes back by another value of its source, or by `bearerctl reload`.
          """)
    case .loggedOut:
      RefusalRow(
        .keyring, 503, "logged-out", "http_request_denied",
        "Somebody logged the credential out while this request was under way; the upstream may have carried it out",
        what: """
          Somebody logged the credential out (`bearerctl logout`) after the request had been sent and before an \
          answer had begun. The connection to the upstream was cut, which does not undo what the request has done \
          there.
          """,
        todo: """
          Find out whether it was carried out before it is sent again, unless sending it twice does no harm. \
          Requests after it get `login-required` until somebody logs in.
          """)
    case .credentialSuspended:
      RefusalRow(
        .keyring, 503, "credential-suspended", "http_request_denied",
        "The upstream kept rejecting the credential, so it is suspended; nothing was sent",
        what: """
          The upstream has rejected the credential several times in a row (401, 407; ten 403 count as one of them), \
          and it is still the same one. Asked on and on with a wrong password, many upstreams lock the account or \
          ban the address. So nothing is sent there any more, but for one request now and then that tries whether it \
          is good again. `Retry-After` says when the next one may, where another value may come by itself; where a \
          person has to put another secret in its place, the answer has `x-should-retry: false` instead.
          """,
        todo: """
          Put the right secret in its place: the first request with a new one goes out at once. If the old one is \
          right after all, `bearerctl resume CREDENTIAL`. `bearerctl status` says which credential it is and since \
          when the upstream rejects it. `suspend` of the credential sets after how many rejections and for how long, \
          or `off`.
          """)
    case .grantDenied:
      RefusalRow(
        .keyring, 503, "grant-denied", "http_request_denied",
        "The credential is not granted to this upstream; nothing was sent",
        what: """
          The keyring did not send the credential: the credential's `origins` do not name this upstream, or the session is \
          not one of this credential. The configuration's own checks should have found that before.
          """,
        todo: """
          Compare `origins` of the credential with `upstream` of the service. If they agree, this is a bug: report \
          it.
          """)
    case .nameNotFound:
      RefusalRow(
        .connector, 502, "name-not-found", "dns_error",
        "The upstream's name could not be resolved",
        what: "The name server says that the upstream's name does not exist, or has no address.",
        todo: """
          Look for a slip in `upstream`. `getent ahosts NAME`, run on this machine, asks in the same way as bearerd. \
          If this machine reaches other machines only through a proxy (`HTTPS_PROXY` is set for your programs): \
          bearerd connects by itself and asks no proxy yet, so the upstream has to be reachable from here.
          """)
    case .nameLookupFailed:
      RefusalRow(
        .connector, 502, "name-lookup-failed", "dns_error",
        "The upstream's name could not be looked up",
        what: """
          The question for the upstream's name had no answer: no name server could be reached, or it failed itself \
          (SERVFAIL). Whether the name exists is not known. `detail` in the log has the system's word; EAI_AGAIN is \
          the usual one.
          """,
        todo: """
          Ask again in a while. If it stays, see whether the machine has a network, and what `/etc/resolv.conf` \
          names; `getent ahosts NAME` asks in the same way as bearerd.
          """)
    case .nameTimeout:
      RefusalRow(
        .connector, 504, "name-timeout", "dns_timeout",
        "The upstream's name could not be resolved in time",
        what: "No name server answered within `timeouts.connect`.",
        todo: "See whether the machine has a network, and what `/etc/resolv.conf` names. Then ask again.")
    case .addressForbidden:
      RefusalRow(
        .connector, 502, "address-forbidden", "destination_ip_prohibited",
        "The upstream's name resolves to an address that it may not have (see allow_addresses)",
        what: """
          The upstream's name leads to an address of this machine, of the local link or of a cloud's metadata \
          service. Whoever answers for that name could send the credential there (T28). `detail` in the log has the \
          address.
          """,
        todo: """
          If the name is meant to lead there, list the network in `allow_addresses` of the service. If not, somebody \
          should look at your name server.
          """)
    case .connectionRefused:
      RefusalRow(
        .connector, 502, "connection-refused", "connection_refused",
        "The upstream refused the connection",
        what: "Nobody listens at the upstream's address and port.",
        todo: "See whether the upstream runs, and compare the port.")
    case .connectionFailed:
      RefusalRow(
        .connector, 502, "connection-failed", "destination_unavailable",
        "The upstream could not be reached",
        what: """
          No connection could be made: no route, no network, or a firewall that says so. `detail` in the log has the \
          system's word.
          """,
        todo: "`curl -v` to the upstream from this machine shows the same.")
    case .connectionTimeout:
      RefusalRow(
        .connector, 504, "connection-timeout", "connection_timeout",
        "The upstream did not accept a connection in time",
        what: "The upstream's address did not answer within `timeouts.connect`, 10 s unless you say otherwise.",
        todo: "Mostly a firewall that drops packets, or an upstream that is down. Raising the time rarely helps.")
    case .handshakeFailed:
      RefusalRow(
        .connector, 502, "tls-handshake-failed", "tls_protocol_error",
        "The TLS handshake with the upstream failed",
        what: """
          TLS could not be agreed on: the other side speaks none, only versions below 1.2, no HTTP/1.1 within it \
          (HTTP/2 alone), or closed in the middle. `detail` in the log has OpenSSL's word.
          """,
        todo: """
          `openssl s_client -connect HOST:PORT` shows the other side's view. A port for plain HTTP is the usual \
          cause.
          """)
    case .handshakeTimeout:
      RefusalRow(
        .connector, 504, "handshake-timeout", "connection_timeout",
        "The upstream did not finish its TLS handshake in time",
        what: "The connection was made, and the TLS handshake was not finished within `timeouts.handshake`.",
        todo: "The upstream is overloaded, or something between swallows packets. Ask again.")
    case .certificateInvalid:
      RefusalRow(
        .connector, 502, "certificate-invalid", "tls_certificate_error",
        "The upstream's certificate is not trusted; nothing was sent",
        what: """
          The upstream's certificate does not lead to an authority that is trusted here, or may not be used for a \
          server. Nothing was sent. The chain is checked against the system's store or, if the service has one, \
          against its `ca_file` alone.
          """,
        todo: """
          For an upstream with an authority of its own, say `ca_file`. For any other, somebody may stand in between: \
          look at `bearerctl pin HOST` and at `detail` in the log before you change anything.
          """)
    case .certificateExpired:
      RefusalRow(
        .connector, 502, "certificate-expired", "tls_certificate_error",
        "The upstream's certificate is expired or not valid yet; nothing was sent",
        what: "A certificate of the upstream's chain is expired, or not valid yet. Nothing was sent.",
        todo: "Check this machine's clock with `date`. If it is right, only the upstream's operator can help.")
    case .hostnameMismatch:
      RefusalRow(
        .connector, 502, "hostname-mismatch", "tls_certificate_error",
        "The upstream's certificate is for another name; nothing was sent",
        what: "The upstream's certificate is trusted, but for another name. Nothing was sent.",
        todo:
          "`detail` in the log has both names. `upstream` has to be the name on the certificate, not an alias of it.")
    case .pinMismatch:
      RefusalRow(
        .connector, 502, "pin-mismatch", "tls_certificate_error",
        "No key of the upstream's verified chain is pinned; nothing was sent",
        what: """
          Chain and name are right, but none of the public keys in the chain is one of the service's `pins`. Either \
          the upstream has changed its key, or somebody shows a certificate that another authority has issued. \
          Nothing was sent.
          """,
        todo: """
          `detail` in the log has the keys that were seen. Ask the upstream's operator, by another way than this \
          one, whether the new key is theirs; only then put its pin in with `bearerctl pin HOST`.
          """)
    case .pinsExpired:
      RefusalRow(
        .connector, 502, "pins-expired", "tls_certificate_error",
        "The pins of this service have expired; nothing was sent",
        what: "The date in `pins_expire` has come. You chose that nothing is sent from then on.",
        todo: "Find out which pins are right now, put them in with a new date, and `bearerctl reload`.")
    case .upstreamClosed:
      RefusalRow(
        .answer, 502, "upstream-closed", "connection_terminated",
        "The upstream closed the connection before it had answered",
        what: """
          The upstream took the request and closed the connection before it had answered. Whether it acted on the \
          request is not known; where that would do no harm, bearerd has tried a second time. With `reused` in the body and \
          in the log, the connection was kept from an earlier request: the upstream may have closed it before it read this one.
          """,
        todo: """
          See the upstream's log. For a request that changes something, look before you repeat it. If `reused` comes often, \
          let `limits.upstream_idle` be shorter than the time after which the upstream closes its connections.
          """)
    case .upstreamMalformed:
      RefusalRow(
        .answer, 502, "upstream-malformed", "http_protocol_error",
        "The upstream's answer is not valid HTTP",
        what: """
          The upstream's response is not clean HTTP/1.1: two different lengths, unknown codings, stray bytes, or \
          another protocol. `reason` in the body and in the log says what is wrong, in the words of \
          [malformed-request](#malformed-request). `line` and `field` name the place in the head, where the status line is \
          line 1. A head that is too large comes with `limit`, and with `key`, the key that raises the limit. Faults \
          with one meaning are [repaired](requests.md#responses-that-are-not-clean), unless the service says `responses: strict`.
          """,
        todo: """
          `curl -v` may show the fault. The upstream, or a proxy in front of it, has to correct the response: a client that \
          reads another end of it than bearerd takes the rest for the next response (T26). If `key` is there, you can \
          raise that limit.
          """)
    case .upstreamTimeout:
      RefusalRow(
        .answer, 504, "upstream-timeout", "http_response_timeout",
        "The upstream did not answer in time",
        what: """
          The upstream has the request, and did not answer within `timeouts.response_head`, `body_silence` or \
          `total`. `key` in the body says which. Each interim response (1xx) begins the time of `response_head` again.
          """,
        todo: """
          If it needs long by nature, raise that time for this service. Look before you repeat what changes \
          something.
          """)
    case .credentialRejected:
      RefusalRow(
        .answer, 502, "credential-rejected", "proxy_configuration_error",
        "The upstream rejected the credential that bearerd added",
        what: """
          The upstream answered 401 or 407 to the credential that bearerd added, and the service says `on_rejected: \
          "502"`. The program cannot help it: it has no credential.
          """,
        todo: """
          The secret is wrong, expired or revoked. `bearerctl status` shows since when which one is in use. Put a \
          new one in its file; the next request uses it.
          """)
    case .encodedAnswer:
      RefusalRow(
        .answer, 502, "encoded-answer", "http_protocol_error",
        "The upstream's answer is coded so that it cannot be searched for the credential",
        what: """
          The answer came compressed or otherwise coded, and in it the credential would not be found. By default \
          (`redact: errors`) that concerns only bodies of 4xx and 5xx: gzip and deflate are decoded, up to `limits.decoded_error`. \
          For another known coding the upstream's status and fields go on, with this text in the place of the body. \
          The upstream was offered only gzip, deflate and identity, from what the program accepts. \
          What turns out to be larger, or broken, is cut where it stands. With `redact: all` answers are asked for \
          uncoded (`Accept-Encoding: identity`), and one that is coded all the same is refused with 502.
          """,
        todo: """
          Raise `limits.decoded_error` if the body was only too large. Some servers send one coding whatever they are \
          offered. For such a service, `redact: headers` lets bodies pass without a search.
          """)
    case .redirectToSelf:
      RefusalRow(
        .answer, 502, "redirect-to-self", "proxy_loop_detected",
        "The upstream's answer points to a listener of bearerd itself",
        what: """
          The upstream's answer points to a listener of bearerd (`Location`, `Link` and the like). Followed, the \
          next request would carry a credential that its sender chose.
          """,
        todo: """
          Find out why the upstream believes to be at that address; some build it from a `Host` or `Forwarded` \
          field.
          """)
    case .unrequestedUpgrade:
      RefusalRow(
        .answer, 502, "unrequested-upgrade", "http_protocol_error",
        "The upstream switched protocols without being asked",
        what: """
          The upstream answered 101 and switched to a protocol that the request had not asked for, or picked a \
          subprotocol (`Sec-WebSocket-Protocol`) that bearerd had not offered. Entries that carry a credential are not \
          offered.
          """,
        todo: "It is for the upstream to correct.")
    case .tooManyInformational:
      RefusalRow(
        .answer, 502, "too-many-informational", "http_protocol_error",
        "The upstream sent too many interim answers",
        what: """
          The upstream sent interim responses (1xx) to one request too fast: 256 may come at once and 10 more each second, and \
          1 MiB at once and 16 KiB more each second. Their number is not bounded.
          """,
        todo: "It is for the upstream to correct.")
    case .draining:
      RefusalRow(
        .bearerd, 503, "draining", "connection_limit_reached",
        "bearerd is shutting down",
        what: "bearerd has been told to stop, finishes what it has begun, and takes nothing new.",
        todo: "Ask again in a moment. If nothing starts it again, `systemctl status bearerd` says why.")
    case .listenerRemoved:
      RefusalRow(
        .bearerd, 503, "listener-removed", "destination_unavailable",
        "The listener of this request was removed while the request was under way",
        what: """
          A reload removed the listener, or gave it another address, before the request had a response. bearerd does not \
          pass the request on to another listener, because other rules and credentials apply there. If the log line says \
          `retried=true`, the upstream may have received the request once.
          """,
        todo: "Send the request again, to an address that the configuration still has.")
    case .auditUnavailable:
      RefusalRow(
        .bearerd, 503, "audit-unavailable", "proxy_internal_error",
        "No record of this request could be kept, and audit says required; nothing was sent",
        what: """
          The configuration says `audit: { required: true }`, and the last record could not be written (a full disk, \
          mostly), or records come faster than they can be. It is tried again each second.
          """,
        todo: """
          `bearerctl status` and the log (`event=audit-failed`) say what is wrong. Make room, or move the file to \
          another disk and `bearerctl reload`; requests then go out again by themselves.
          """)
    case .internalError:
      RefusalRow(
        .bearerd, 500, "internal-error", "proxy_internal_error",
        "bearerd could not go on",
        what:
          "Something that should always work did not: memory, OpenSSL, the system's certificates. Nothing was sent.",
        todo: "`detail` in the log says what it was. If it is not the machine, it is a bug: report it.")
    }
  }
}
