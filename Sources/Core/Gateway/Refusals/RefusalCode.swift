/// The code of an error response that bearerd generates itself. Each code has a case here and a row below.
///
/// Raw values may change between builds. The codes in the rows do not change.
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
  case credentialReplaced
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
  case grpcNeedsHTTP2
  case certificateInvalid
  case certificateExpired
  case hostnameMismatch
  case pinMismatch
  case pinsExpired
  case certificateRevoked
  case stapleMissing
  case revocationUnknown
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
  /// Finds the code with a name such as `no-rule`. Returns `nil` if there is no such code.
  package init?(named name: String) {
    guard let found = RefusalCode.allCases.first(where: { $0.row.code.description == name }) else { return nil }
    self = found
  }

  package var refuser: Refuser { row.refuser }

  /// The texts and numbers of the code.
  package var row: RefusalRow {
    switch self {
    case .malformedRequest:
      RefusalRow(
        .parser, 400, "malformed-request", "http_request_error",
        "The request is not valid HTTP",
        what: """
          The bytes are not a valid HTTP request, or other servers could interpret them differently. `reason` in the \
          response body and in the log says what is wrong. The list below explains each reason. `line` is the number \
          of the faulty line, and the request line is line 1. If the request-target has a space in it, `position` is \
          the position of this space in the target, in bytes. bearerd closes an HTTP/1.1 connection, because it \
          cannot know where the next request begins. With HTTP/2, only this request fails.
          """,
        todo: """
          Fix the program that sends the request. If the program works elsewhere, look for a component between the \
          program and bearerd that changes requests. A program that sends TLS to bearerd also gets this response. The \
          base URL of such a program must begin with `http://`.
          """)
    case .reservedFieldInConnection:
      RefusalRow(
        .parser, 400, "reserved-field-in-connection", "http_request_error",
        "The Connection field lists a protected header field",
        what: """
          The `Connection` field of the request lists a protected field, such as `Authorization` or `Host`. HTTP \
          proxies remove the fields that `Connection` lists, so a program could remove the credential that bearerd \
          adds.
          """,
        todo: """
          Fix the program. Its `Connection` field may list only `close`, `keep-alive` and fields that are meant for \
          the next hop.
          """)
    case .requestTimeout:
      RefusalRow(
        .parser, 408, "request-timeout", "http_request_error",
        "The request did not arrive in time",
        what: """
          The head of the request, or the next part of its body, did not arrive in time. Or the body arrived more \
          slowly than `limits.client_body_rate` allows, measured over `timeouts.body_silence` (over 10 minutes if \
          `body_silence` is `none`). `key` in the response body, and `detail` in the log, name the limit.
          """,
        todo: """
          Find out why the program sends so slowly. If it has a good reason, change the limit that `key` names: raise \
          `limits.client_head` or `timeouts.body_silence` of the service, or lower `limits.client_body_rate`.
          """)
    case .targetTooLong:
      RefusalRow(
        .parser, 414, "target-too-long", "http_request_error",
        "The path and query are too long",
        what: """
          The path and query of the request are longer than `limits.target` (default: 16 KiB). `limit` in the \
          response body is the limit in bytes.
          """,
        todo: "Send long parameters in a body, or raise `limits.target`.")
    case .unknownExpectation:
      RefusalRow(
        .parser, 417, "unknown-expectation", "http_request_error",
        "The only supported expectation is 100-continue",
        what: """
          The `Expect` field of the request has a value other than `100-continue`. HTTP defines no other expectation \
          (RFC 9110, 10.1.1).
          """,
        todo: "Remove the `Expect` field from the request.")
    case .headTooLarge:
      RefusalRow(
        .parser, 431, "head-too-large", "http_request_error",
        "The header fields are too large or too many",
        what: """
          The header fields of the request, or its trailers, are too large or too many. The maximum size is \
          `limits.head` (default: 64 KiB), and the maximum number is `limits.fields` (default: 128). In the response \
          body, `key` names the limit and `limit` is its value.
          """,
        todo: """
          Find the field that is too large. Usually it is `Cookie`, or a field for a token that holds something else. \
          Or raise the limit.
          """)
    case .unknownTransferCoding:
      RefusalRow(
        .parser, 501, "unknown-transfer-coding", "http_request_error",
        "The only supported transfer coding is chunked",
        what: "The request has a `Transfer-Encoding` other than `chunked`.",
        todo: """
          Send the body chunked or with a `Content-Length`. To compress the body, use `Content-Encoding`, which \
          bearerd passes on.
          """)
    case .versionNotSupported:
      RefusalRow(
        .parser, 505, "version-not-supported", "http_request_error",
        "The HTTP version in the request line is not supported",
        what: """
          The request line names a version of HTTP other than 1.0 and 1.1. bearerd also supports HTTP/2, which has no \
          request line: an HTTP/2 connection begins with the connection preface (RFC 9113 section 3.4).
          """,
        todo: """
          Configure the program to use HTTP/1.1, or HTTP/2 without TLS and without Upgrade (prior knowledge). bearerd \
          does not support HTTP/3.
          """)
    case .callerNotAllowed:
      RefusalRow(
        .admission, 403, "caller-not-allowed", "http_request_denied",
        "This user is not allowed here. The log of bearerd shows the line to add to allow_users",
        what: """
          The kernel reports which user opened the connection. This user is not included in `allow_users` and \
          `allow_groups` of the listener, the service or the credential. The response does not say which of the three \
          refused the user.
          """,
        todo: """
          To allow the user, add the line that the log shows. Find it in `help` of the log line with \
          `refused=caller-not-allowed`. If you do not want to allow the user, do nothing. Root also needs an entry in \
          these lists.
          """)
    case .callerUnknown:
      RefusalRow(
        .admission, 403, "caller-unknown", "http_request_denied",
        "The system could not identify the calling user",
        grpc: .unauthenticated,
        what: """
          The kernel could not say which user opened this connection. Possible reasons are: the connection comes from \
          another network namespace (a container), something redirected the connection, or the program has already \
          closed it.
          """,
        todo: """
          Send the request again, from a program on this machine. If the program is in a container, mount the Unix \
          socket of a listener there. For a Unix socket, the kernel always knows the user.
          """)
    case .clientUnknown:
      RefusalRow(
        .admission, 403, "client-unknown", "http_request_denied",
        "This listener needs a client token. Send it in place of the API key, for example as Authorization: Bearer TOKEN",
        grpc: .unauthenticated,
        what: """
          The listener has `clients`, so each request needs a token of one of these clients. The request had no \
          token, a key that is not a client token, or a token that no client of this listener has. bearerd did not \
          contact the upstream.
          """,
        todo: """
          Give the program a client token instead of its API key: as the key of its SDK, in `Authorization: Bearer`, \
          in `X-Api-Key`, or as the password of `Basic`. bearerd removes the token before it sends the request to the \
          upstream. `bearerctl token NAME` creates a token and prints the line for `clients`. The log says which of \
          the three problems it was. For git, run `git config http.extraHeader "Authorization: Bearer …"`: git sends \
          a password only if the server asks for one, and bearerd does not ask.
          """)
    case .clientNotAllowed:
      RefusalRow(
        .admission, 403, "client-not-allowed", "http_request_denied",
        "This client is not allowed here. The log of bearerd shows the key to change",
        what: "`allow_clients` of the service or of the credential does not include the client that sent this token.",
        todo: """
          To allow the client, add its name to the key that the log shows. Find the key in `help` of the log line \
          with `refused=client-not-allowed`. If you do not want to allow the client, do nothing.
          """)
    case .originNotAllowed:
      RefusalRow(
        .admission, 403, "origin-not-allowed", "http_request_denied",
        "The web page's origin is not listed in browsers of the listener",
        what: """
          The request has an `Origin` field, so a web page sent it. Web pages may use credentials only if `browsers` \
          of the listener lists their origin (threat T2). It does not matter which user runs the browser. Editors and \
          desktop programs that display web pages have origins such as `app://obsidian.md`, which you can list. \
          `null` is the origin of pages without an origin of their own, such as local files. You cannot list `null`.
          """,
        todo: """
          If the page is yours, add its origin. `add` in the response body is the line to write. The log shows the \
          same line, together with the origins that are already listed. If a program that is not a browser sends \
          `Origin`, you can usually switch this off in the program.
          """)
    case .crossSite:
      RefusalRow(
        .admission, 403, "cross-site", "http_request_denied",
        "The request comes from an unidentified web page",
        what: """
          The request has a `Sec-Fetch-Site` field with a value other than `none`, so a web page sent it. The request \
          has no `Origin` field, so bearerd cannot tell which page. Browsers send such requests for links, frames and \
          plain images. bearerd refuses these requests for listed pages, too. Otherwise any site that a listed page \
          links to could send the browser to bearerd with a redirect (threat T2).
          """,
        todo: """
          In a listed page, use `fetch` (without `no-cors`), or add the attribute `crossorigin` to the element. If \
          you only want to look at a response, type its address into the browser.
          """)
    case .siteUnknown:
      RefusalRow(
        .admission, 403, "site-unknown", "http_request_denied",
        "Browsers cannot use this host name. Use localhost",
        what: """
          The request uses a name from `hosts` that is not localhost, and it looks like a browser's request: its \
          `User-Agent` begins with `Mozilla/`, and it also names `AppleWebKit/`, `Gecko/` or `Firefox/`, or the \
          request has an `Accept-Language` field. To such a name, browsers send no `Sec-Fetch-Site`, and no `Origin` \
          for links, frames and images. So bearerd cannot tell whether a web page sent the request (threat T2).
          """,
        todo: """
          In a browser, use `localhost`, `127.0.0.1` or a name that ends in `.localhost`, with the listener's port. \
          For these names, the browser tells bearerd which page sent a request. If a program imitates a browser, you \
          can usually configure another `User-Agent`. Or add `clients` to the listener. bearerd then skips this \
          check, because web pages have no client token.
          """)
    case .methodNotSupported:
      RefusalRow(
        .admission, 405, "method-not-supported", "http_request_denied",
        "TRACE, TRACK and CONNECT are not allowed",
        what: """
          TRACE and TRACK would return the credential in a response body. CONNECT would open a tunnel to which no \
          rule applies.
          """,
        todo: """
          Use another method. A program that sends CONNECT uses bearerd as a forward proxy. Set the program's base \
          URL instead.
          """)
    case .hostNotAllowed:
      RefusalRow(
        .admission, 421, "host-not-allowed", "http_request_denied",
        "The Host field does not name this listener. Use localhost, or add the name to hosts",
        what: """
          The `Host` field of the request is not one of the listener's names. bearerd refuses such requests, because \
          otherwise a web page could reach this port under a name of its own (DNS rebinding, threat T1). The names of \
          a loopback listener are `localhost` and the loopback addresses, with any port or without one, so that a \
          tunnel such as `ssh -L 9000:localhost:7070` works. A service with `at: localhost:PORT` accepts only its own \
          port in `Host`.
          """,
        todo: """
          Use `localhost` in the URL. If a program must use another name, such as `host.docker.internal:7070`, add \
          this name to `hosts` of the listener. Only programs can use such a name. Browsers get `site-unknown`.
          """)
    case .authorityMismatch:
      RefusalRow(
        .admission, 421, "authority-mismatch", "http_request_denied",
        "The URL names another server. bearerd is not a general proxy: use a URL of bearerd",
        what: """
          The request line has a complete URL, and this URL names another server than this listener. The program uses \
          bearerd as a forward proxy, which bearerd does not support.
          """,
        todo: "Unset `http_proxy` for this program, and use the service's local address as its base URL.")
    case .tooManyConnections:
      RefusalRow(
        .admission, 429, "too-many-connections", "http_request_denied",
        "This user has too many open connections (limits.connections_per_user)",
        what: """
          The user has as many open connections as `limits.connections_per_user` allows. bearerd closed the new \
          connection before it read anything, so that there is room for other users. All users that the listener does \
          not allow count together as one user, and get one eighth of all connections. A connection over a network \
          counts as theirs until a client token arrives on it.
          """,
        todo: """
          Find the program that opens these connections. `ss -tnp` lists the connections of each program. If the \
          program keeps connections open but uses each only once, let it use a connection pool. Or raise \
          `limits.connections_per_user`.
          """)
    case .tooManyRequests:
      RefusalRow(
        .admission, 429, "too-many-requests", "http_request_denied",
        "This user has too many requests in progress (limits.requests_per_user)",
        what: """
          The user has as many requests in progress as `limits.requests_per_user` allows. WebSockets, and responses \
          that the program is still reading, also count. Nothing was sent. You can send the same request again.
          """,
        todo: "Send fewer requests at the same time, or raise `limits.requests_per_user`.")
    case .badPath:
      RefusalRow(
        .rules, 400, "bad-path", "http_request_error",
        "The path is not valid",
        what: "The request line has no path that begins with a slash.",
        todo: "Correct the program's URL.")
    case .badEscape:
      RefusalRow(
        .rules, 400, "bad-escape", "http_request_error",
        "The path has a broken percent-escape",
        what: "The path has a `%` that is not followed by two hexadecimal digits.",
        todo: "Percent-encode the whole path, and only once. A literal percent sign is `%25`.")
    case .dotSegment:
      RefusalRow(
        .rules, 400, "dot-segment", "http_request_error",
        "The path has a dot segment (..)",
        what: """
          The path has a segment `..`, or a segment that some upstreams would read as a dot segment (`%2e`, `..;x`, \
          `%2F..`). With such a path, a program could reach places that the rules do not allow (threat T12). bearerd \
          does not refuse a segment `.`, but removes it, as browsers do.
          """,
        todo: "Let the program resolve its paths before it sends the request. No setting allows dot segments.")
    case .forbiddenCharacter:
      RefusalRow(
        .rules, 400, "forbidden-character", "http_request_error",
        "The URL has a character that is not allowed",
        what: """
          The path has a backslash, `"`, `<`, `>`, a control character or the escape of a control character. Or the \
          query has a control character. In the response body, `character` names the character, `position` is its \
          position in the request-target (the first byte is 1), and `escape` is its escape for a URL. `detail` in the \
          log says the same. Bytes outside ASCII, `[ ] { } | ^` and the backquote are allowed: bearerd \
          percent-encodes them. In a query, only control characters are not allowed.
          """,
        todo: """
          Let the program percent-encode the character. Some servers read a backslash as a slash, and others as an \
          ordinary character. bearerd therefore accepts only the escape `%5C`, and only if the rules decide both \
          meanings in the same way. Control characters are not allowed in a path, not even as an escape.
          """)
    case .fragment:
      RefusalRow(
        .rules, 400, "fragment", "http_request_error",
        "The URL has a fragment",
        what: """
          The URL in the request line has a `#`. A fragment is only for the browser, and must not be sent to a \
          server.
          """,
        todo: "If the `#` belongs to the path or the query, write it as `%23`. Otherwise remove the fragment.")
    case .ambiguousPath:
      RefusalRow(
        .rules, 400, "ambiguous-path", "http_request_denied",
        "Servers could read the path in several ways, and your rules do not decide all of them alike",
        what: """
          The path has `%2F`, `%5C`, `//` or `;`. Servers interpret these characters differently, and your rules do \
          not decide all interpretations in the same way (threat T12). For example, they allow one and refuse \
          another.
          """,
        todo: """
          `bearerctl explain METHOD URL` shows the decision. Avoid these characters in the path, or write rules that \
          decide every meaning in the same way.
          """)
    case .clientCredentialField:
      RefusalRow(
        .rules, 400, "client-credential-field", "http_request_denied",
        "This service does not allow a credential in the program's request",
        what: """
          The program sent a header field with a credential of its own, and the service or the rule has \
          `on_client_header: reject`. bearerd did not look at the value of the field.
          """,
        todo: """
          Remove the key from the program, because bearerd adds the credential. Or use `on_client_header: replace`. \
          bearerd then replaces the program's credential with the configured one.
          """)
    case .clientTokenLeft:
      RefusalRow(
        .rules, 400, "client-token-left", "http_request_denied",
        "The client token is in a part of the request that goes to the upstream. Send it only in place of the API key",
        what: """
          The request has a client token. It also has a text that looks like a client token (`bearerd_` and 43 \
          characters) in another part, which bearerd would send to the upstream: in the path, the query, a cookie, \
          `Referer`, a subprotocol or another field. bearerd sent nothing, because a client token is only for \
          bearerd.
          """,
        todo: """
          Send the token only in `Authorization`, `X-Api-Key` or another field for keys. Some SDKs also write their \
          key into the URL. Configure another key for the URL, or use the Unix socket of a listener without \
          `clients`.
          """)
    case .badDestination:
      RefusalRow(
        .rules, 400, "bad-destination", "http_request_error",
        "The WebDAV destination is not valid",
        what: """
          A WebDAV request names a second place, in `Destination` or in a tag of `If`. The second place is not a URL \
          or a path, or has something that is not allowed in a path.
          """,
        todo: "Let the program write the second place as a path, or as a URL of the same listener.")
    case .destinationDenied:
      RefusalRow(
        .rules, 403, "destination-denied", "http_request_denied",
        "The WebDAV destination is not allowed",
        what: """
          A WebDAV request names a second place, in `Destination` or in a tag of `If`. This place belongs to another \
          service, or the rules do not allow the request there. The rules apply to both places. Otherwise a MOVE \
          could write to a place where a PUT is not allowed (threat T12).
          """,
        todo: """
          `bearerctl explain METHOD URL -H 'Destination: …'` shows the decision. To allow the request, add a rule \
          that allows this method at the second place.
          """)
    case .noRule:
      RefusalRow(
        .rules, 403, "no-rule", "http_request_denied",
        "No rule of this service allows this request. bearerctl explain shows why",
        what: """
          The service has rules, and no rule matches this method and path. If a service has rules, bearerd refuses \
          requests that match no rule.
          """,
        todo: """
          `bearerctl explain METHOD URL` shows why each rule does not match. To allow the request, add a rule and \
          run `bearerctl reload`.
          """)
    case .denied:
      RefusalRow(
        .rules, 403, "denied", "http_request_denied",
        "A rule of this service denies this request. bearerctl explain shows which one",
        what: "The first matching rule of the service has `deny: true`.",
        todo: """
          `bearerctl explain METHOD URL` shows the rule and its line. Change the rule only if it should not deny \
          this request.
          """)
    case .noService:
      RefusalRow(
        .rules, 404, "no-service", "http_request_denied",
        "No service has this path. The key 'at' of a service sets its path, for example at: /github/",
        what: "No service of this listener has this path, host or port.",
        todo: """
          Compare the URL with `at` of your services (default: `/NAME/`). Also check the port, because programs can \
          reach a service only at its own `listener`. `bearerctl status` lists the services.
          """)
    case .rateLimited:
      RefusalRow(
        .rules, 429, "rate-limited", "http_request_denied",
        "This caller has reached its rate limit",
        what: """
          The service, or the rule that matched, has a `rate`, and this caller has used all of it. A caller is a user \
          or a client. If a request needs an allowed user and a client token, each pair of both is a caller. Nothing \
          was sent. In the response body, `rate` and `of` name the limit. `Retry-After` says when the next request is \
          possible.
          """,
        todo: """
          Send fewer requests, or wait. With `60/m`, a caller can send sixty requests at once, and then one more each \
          second. `bearerctl explain METHOD URL` shows how many are left. If the program really needs more requests, \
          raise `rate`.
          """)
    case .formTooLarge:
      RefusalRow(
        .rules, 413, "form-too-large", "http_request_error",
        "The form is too large. bearerd signs forms of at most 64 KiB",
        what: """
          The credential signs requests (`oauth1`), and the signature includes the parameters of a form. bearerd \
          therefore has to read the whole form first, and keeps at most 64 KiB. Bodies that are not forms are not \
          signed, and may have any length.
          """,
        todo: "Let the program send large values as `multipart/form-data` or JSON if the API accepts that.")
    case .credentialUnavailable:
      RefusalRow(
        .keyring, 503, "credential-unavailable", "proxy_configuration_error",
        "The credential is not available, so nothing was sent. The log of bearerd says why",
        what: """
          The request needs a credential that has no usable secret. If the secret is in a file, the file is missing, \
          empty or not plain text, or other users could read or replace it. If the secret comes from systemd or an \
          environment variable, bearerd did not get it. bearerd sent nothing to the upstream.
          """,
        todo: """
          `bearerctl status` and the log (`event=credential-unavailable`) name the source and the problem. After you \
          repair a file, the next request uses it without a reload.
          """)
    case .tokenUnavailable:
      RefusalRow(
        .keyring, 503, "token-unavailable", "proxy_configuration_error",
        "The token endpoint gave no token, so nothing was sent. bearerctl status says why",
        what: """
          The credential gets its tokens from a token endpoint (`oauth2`) or a login (`login`). The last token can no \
          longer be used, and bearerd has no new token. bearerd could not reach the endpoint, the endpoint's key did \
          not match the pins, or the endpoint responded with an error or too late. Or bearerd could not store the new \
          refresh token. Nothing was sent to the upstream. `Retry-After` says when bearerd may ask the endpoint \
          again. `reason` in the response body is `no-token`, `not-stored` or `token-storm`. `not-stored`: bearerd \
          could not store the refresh token. `token-storm`: bearerd requested five tokens within thirty seconds, and \
          each was rejected or was valid for less than two seconds.
          """,
        todo: """
          `bearerctl status` and the log (`event=token-failed`) show the problem. When it is solved, the first \
          request after `Retry-After` asks the endpoint again, without a reload.
          """)
    case .loginRequired:
      RefusalRow(
        .keyring, 503, "login-required", "proxy_configuration_error",
        "The credential needs a login, so nothing was sent. Run bearerctl login",
        what: """
          A person has to act before bearerd can get a token. Usually there was no login yet, or `bearerctl logout` \
          has ended the login. With `oauth2`, the token endpoint may also have reported that the refresh token is no \
          longer valid (`invalid_grant`), because it was revoked, has expired or was used elsewhere. With `login`, \
          the login URL responded with 401, so the name or the password is wrong. Nothing was sent to the upstream.
          """,
        todo: """
          Run `bearerctl login CREDENTIAL` if the grant is `device_code` or `authorization_code`, or if the credential \
          has `oauth1`. If the grant is \
          `refresh_token`, get a new refresh token from the server and write it into the file that `refresh_token` of \
          the credential's `oauth2` names. The next request uses it, without a reload. If this happens often, check \
          whether another program uses the same login. For `login`, write the right password into its file. bearerd \
          uses the new password at once. If you ran `bearerctl logout` for any other credential, change the value of \
          its source, or run `bearerctl reload`.
          """)
    case .loggedOut:
      RefusalRow(
        .keyring, 503, "logged-out", "http_request_denied",
        "The credential was logged out during the request",
        what: """
          `bearerctl logout` ended the use of the credential after bearerd had sent the request, and before the \
          response began. bearerd cut the connection to the upstream. The upstream may already have carried out the \
          request.
          """,
        todo: """
          If sending the request twice could do harm, find out whether the upstream carried it out before you send it \
          again. Further requests get `login-required` until you log in.
          """)
    case .credentialReplaced:
      RefusalRow(
        .keyring, 503, "credential-replaced", "http_request_denied",
        "The credential changed during the request",
        what: """
          The credential has `on_change: cut` and got another value after bearerd had sent the request, and before the \
          response began. bearerd cut the connection to the upstream, because the old value had opened it. The \
          upstream may already have carried out the request.
          """,
        todo: """
          Send the request again: bearerd adds the new value. If sending the request twice could do harm, first find \
          out whether the upstream carried it out.
          """)
    case .credentialSuspended:
      RefusalRow(
        .keyring, 503, "credential-suspended", "http_request_denied",
        "The credential is suspended because the upstream kept rejecting it. Nothing was sent",
        what: """
          The upstream rejected the credential several times in a row, with 401 or 407. Ten responses with 403 count \
          as one rejection. Since then, the credential has not changed. Many upstreams lock the account or ban the \
          address after repeated wrong passwords. bearerd therefore stops sending the credential to this upstream. \
          From time to time, it sends one request with the credential as a test. If the credential can get a new \
          value without a person, `Retry-After` says when the next test is possible. If a person has to replace the \
          secret, the response has `x-should-retry: false` instead.
          """,
        todo: """
          Write the right secret into its source: the first request with the new secret is sent at once. If the old \
          secret is right, run `bearerctl resume CREDENTIAL`. `bearerctl status` shows which credential is suspended, \
          and since when the upstream rejects it. `suspend` of the credential sets the number of rejections and the \
          time. `suspend: off` switches suspensions off.
          """)
    case .grantDenied:
      RefusalRow(
        .keyring, 503, "grant-denied", "http_request_denied",
        "The credential is not allowed for this upstream",
        grpc: .permissionDenied,
        what: """
          bearerd did not send the credential: `origins` of the credential does not include this upstream, or the \
          connection was opened for another credential. bearerd should have found this when it read the \
          configuration.
          """,
        todo: """
          Compare `origins` of the credential with `upstream` of the service. If `origins` includes the upstream, \
          this is a bug: report it.
          """)
    case .nameNotFound:
      RefusalRow(
        .connector, 502, "name-not-found", "dns_error",
        "The upstream's name was not found",
        what: "The name server reports that the upstream's name does not exist, or has no address.",
        todo: """
          Check `upstream` for a typing error. `getent ahosts NAME` on this machine looks up the name in the same way \
          as bearerd. bearerd does not use a proxy yet. If this machine can reach other machines only through a proxy \
          (`HTTPS_PROXY` is set), bearerd cannot reach the upstream.
          """)
    case .nameLookupFailed:
      RefusalRow(
        .connector, 502, "name-lookup-failed", "dns_error",
        "The lookup of the upstream's name failed",
        what: """
          The lookup of the upstream's name failed: no name server could be reached, or the name server reported a \
          failure (SERVFAIL). The name may exist or not. `detail` in the log has the system's error, usually \
          EAI_AGAIN.
          """,
        todo: """
          Try again later. If the error stays, check the machine's network and the name servers in \
          `/etc/resolv.conf`. `getent ahosts NAME` looks up the name in the same way as bearerd.
          """)
    case .nameTimeout:
      RefusalRow(
        .connector, 504, "name-timeout", "dns_timeout",
        "The lookup of the upstream's name timed out",
        what: "No name server responded within `timeouts.connect`.",
        todo: "Check the machine's network and the name servers in `/etc/resolv.conf`. Then try again.")
    case .addressForbidden:
      RefusalRow(
        .connector, 502, "address-forbidden", "destination_ip_prohibited",
        "The upstream's address is not allowed (see allow_addresses)",
        what: """
          The upstream's name resolves to an address of this machine, of the local link or of a cloud's metadata \
          service. bearerd does not connect, because an attacker who controls the name could direct the credential \
          there (threat T28). `detail` in the log has the address.
          """,
        todo: """
          If this address is right for the upstream, add its network to `allow_addresses` of the service. If not, \
          check your name server.
          """)
    case .connectionRefused:
      RefusalRow(
        .connector, 502, "connection-refused", "connection_refused",
        "The upstream refused the connection",
        what: "No program listens at the upstream's address and port.",
        todo: "Check whether the upstream is running, and whether the port in `upstream` is right.")
    case .connectionFailed:
      RefusalRow(
        .connector, 502, "connection-failed", "destination_unavailable",
        "The upstream could not be reached",
        what: """
          bearerd could not connect. There is no network or no route to the upstream, or a firewall rejects the \
          connection. `detail` in the log has the system's error.
          """,
        todo: "Run `curl -v` with the upstream's URL on this machine. It shows the same error.")
    case .connectionTimeout:
      RefusalRow(
        .connector, 504, "connection-timeout", "connection_timeout",
        "The connection to the upstream timed out",
        what: "No connection to the upstream's address was established within `timeouts.connect` (default: 10 s).",
        todo: "Check whether the upstream is down, or a firewall drops packets. A longer timeout rarely helps.")
    case .handshakeFailed:
      RefusalRow(
        .connector, 502, "tls-handshake-failed", "tls_protocol_error",
        "The TLS handshake with the upstream failed",
        what: """
          bearerd and the upstream could not agree on TLS. For example, the upstream speaks plain HTTP on this port, \
          supports only TLS versions below 1.2, does not support the HTTP version that `protocol` of the service \
          requires, has no cipher in common with bearerd, or requires a client certificate. `detail` in the log names \
          the cause and has OpenSSL's error.
          """,
        todo: """
          Do what `detail` in the log says. If it names no cause, check the port in `upstream`. \
          `openssl s_client -connect HOST:PORT` shows the handshake.
          """)
    case .handshakeTimeout:
      RefusalRow(
        .connector, 504, "handshake-timeout", "connection_timeout",
        "The TLS handshake with the upstream timed out",
        what: "bearerd connected to the upstream, but the TLS handshake did not finish within `timeouts.handshake`.",
        todo: "Try again. Usually the upstream is overloaded, or packets are lost on the way.")
    case .grpcNeedsHTTP2:
      RefusalRow(
        .connector, 502, "grpc-needs-http2", "http_protocol_error",
        "gRPC needs HTTP/2, but the connection to the upstream uses HTTP/1.1",
        grpc: .internalError,
        what: """
          The request is a gRPC call. gRPC needs HTTP/2 on the whole way, and the connection to the upstream uses \
          HTTP/1.1. Either the upstream does not support HTTP/2, or the service does not allow HTTP/2. bearerd did not \
          send the call.
          """,
        todo: """
          Look at `protocol` of the service. `http1` does not allow HTTP/2. If `upstream` begins with `http://`, set \
          `protocol: http2`. Credentials with `mode: challenge` and services with `dedicated_connections: true` also use \
          HTTP/1.1. Otherwise the upstream does not support HTTP/2: find out the host and port of its gRPC server.
          """)
    case .certificateInvalid:
      RefusalRow(
        .connector, 502, "certificate-invalid", "tls_certificate_error",
        "The upstream's certificate is not trusted, so nothing was sent",
        what: """
          No trusted authority issued the upstream's certificate, the upstream did not send its intermediate \
          certificate, a key or a signature in the chain is weak, or the certificate may not be used for a server. \
          Nothing was sent. bearerd checks the chain against the system's authorities or, if the service has a \
          `ca_file`, only against this file.
          """,
        todo: """
          `detail` in the log names the certificate and the cause. `bearerctl pin HOST` lists the certificates that the \
          upstream sends. If a private authority issues the upstream's certificates, set `ca_file`. If not, an attacker \
          may be intercepting the connection.
          """)
    case .certificateExpired:
      RefusalRow(
        .connector, 502, "certificate-expired", "tls_certificate_error",
        "The upstream's certificate is expired or not yet valid",
        what: """
          A certificate in the upstream's chain is expired or not yet valid: its own, or one of an authority. Nothing \
          was sent. `detail` in the log has the certificate, its date and the time of this machine's clock.
          """,
        todo: """
          Check this machine's clock with `date`. If the clock is right, and an authority in `ca_file` has expired, \
          replace it there. In other cases, only the upstream's operator can help.
          """)
    case .hostnameMismatch:
      RefusalRow(
        .connector, 502, "hostname-mismatch", "tls_certificate_error",
        "The upstream's certificate is for another name",
        what: "The upstream's certificate is trusted, but for another name. Nothing was sent.",
        todo: """
          `detail` in the log has both names. Use a name from the certificate in `upstream`, not an alias. If bearerd \
          must connect to another name or address, write the name from the certificate into `server_name`.
          """)
    case .pinMismatch:
      RefusalRow(
        .connector, 502, "pin-mismatch", "tls_certificate_error",
        "The upstream's keys match none of the pins, so nothing was sent",
        what: """
          The upstream's certificate chain and name are right, but no public key in the chain is one of the \
          service's `pins`. Either the upstream has changed its key, or an attacker presents a certificate from \
          another authority. Nothing was sent.
          """,
        todo: """
          `detail` in the log lists the keys that bearerd saw. Ask the upstream's operator over another channel \
          whether the new key is theirs. Only then add its pin, which `bearerctl pin HOST` prints.
          """)
    case .pinsExpired:
      RefusalRow(
        .connector, 502, "pins-expired", "tls_certificate_error",
        "The pins of this service have expired",
        what:
          "The date in `pins_expire` has passed. After this date, bearerd sends nothing to this service's upstream.",
        todo: """
          Find out which pins are right now. Write them into `pins`, set a new date in `pins_expire`, and run \
          `bearerctl reload`.
          """)
    case .certificateRevoked:
      RefusalRow(
        .connector, 502, "certificate-revoked", "tls_certificate_error",
        "The upstream's certificate was revoked, so nothing was sent",
        what: """
          The authority that issued a certificate of the upstream has revoked it. A revocation list in `crl_file` of \
          `revocation` says so, or an OCSP response that the upstream itself sent. Nothing was sent. Perhaps the \
          certificate's private key was stolen, and an attacker uses it.
          """,
        todo: """
          Ask the upstream's operator whether they have replaced the certificate. Do not turn the check off. `detail` \
          in the log names the certificate.
          """)
    case .stapleMissing:
      RefusalRow(
        .connector, 502, "staple-missing", "tls_certificate_error",
        "The upstream did not prove that its certificate is not revoked",
        what: """
          The service has `stapling: require`, or it has `stapling: use` and the upstream's certificate requires an \
          OCSP response (must-staple). The upstream sent no OCSP response, or one that has expired, is for another \
          certificate or is not signed by the certificate's issuer. Nothing was sent. `detail` in the log says which.
          """,
        todo: """
          `openssl s_client -connect HOST:PORT -status` shows the OCSP response. Only the upstream's operator can turn \
          on OCSP stapling. Many public authorities no longer have OCSP: for their certificates, use `crl_file`.
          """)
    case .revocationUnknown:
      RefusalRow(
        .connector, 502, "revocation-unknown", "tls_certificate_error",
        "No current revocation list covers the upstream's certificate",
        what: """
          The service has `crl_file` in `revocation`. This file has no list of the issuer of the upstream's \
          certificate, or the list has expired, or its signature is wrong. Nothing was sent. `detail` in the log says \
          which.
          """,
        todo: """
          Download the authority's current list, put it into `crl_file`, and run `bearerctl reload`. Repeat this before \
          each list expires, for example with a systemd timer. `openssl crl -noout -issuer -nextupdate -in FILE` shows \
          issuer and time.
          """)
    case .upstreamClosed:
      RefusalRow(
        .upstream, 502, "upstream-closed", "connection_terminated",
        "The upstream closed the connection before it responded",
        what: """
          The upstream received the request and closed the connection before it responded. With HTTP/2, the upstream \
          may also have reset only this request. `detail` in the log then has its reason. bearerd does not know \
          whether the upstream carried out the request. If sending the request twice could do no harm, and the \
          connection was closed, bearerd has already sent it a second time. `reused` in the response body and in the \
          log means that the connection was opened for an earlier request. The upstream may then have closed it \
          before it read this request.
          """,
        todo: """
          Look at the upstream's log. Before you repeat a request that changes something, check whether the upstream \
          has carried it out. If the upstream often resets requests, try `protocol: http1`. If `reused` appears often, the upstream closes idle connections sooner than bearerd. \
          Set `limits.upstream_idle` to a shorter time.
          """)
    case .upstreamMalformed:
      RefusalRow(
        .upstream, 502, "upstream-malformed", "http_protocol_error",
        "The upstream's response is not valid HTTP",
        what: """
          The upstream's response is not valid HTTP. For example, it has two different lengths, an unknown coding \
          or stray bytes, or it is another protocol. `reason` in the response body and in the log says what is wrong, \
          with the same names as in `malformed-request`. If the upstream violates HTTP/2, all requests on the \
          connection fail, and `detail` in the log says what is wrong. `line` and `field` name the place in the head. The status \
          line is line 1. If the head is too large, `limit` is the limit and `key` is the key that raises it. If the \
          response can be understood in only one way, bearerd repairs the fault, unless the service has `responses: \
          strict`.
          """,
        todo: """
          `curl -v` may show the fault. The operator of the upstream, or of a proxy in front of it, must correct the \
          response. bearerd does not pass such a response on, because a program and bearerd could disagree about \
          where it ends (threat T26). If the response body has `key`, you can raise this limit.
          """)
    case .upstreamTimeout:
      RefusalRow(
        .upstream, 504, "upstream-timeout", "http_response_timeout",
        "The upstream did not respond in time",
        grpc: .deadlineExceeded,
        what: """
          The upstream received the request, and did not respond within `timeouts.response_head`, `body_silence` or \
          `total`. `key` in the response body names the timeout. The time of `response_head` begins again after each \
          interim response (1xx). Without `key`, an HTTP/2 connection was silent, and the upstream did not respond to \
          a PING frame.
          """,
        todo: """
          If the upstream really needs more time, raise this timeout for the service. Before you repeat a request \
          that changes something, check whether the upstream has carried it out.
          """)
    case .credentialRejected:
      RefusalRow(
        .upstream, 502, "credential-rejected", "proxy_configuration_error",
        "The upstream rejected the credential that bearerd added",
        what: """
          The upstream responded with 401 or 407 to the credential that bearerd added, and the service has \
          `on_rejected: "502"`. Only you can solve this, because the program has no credential of its own.
          """,
        todo: """
          The secret is wrong, expired or revoked. `bearerctl status` shows which secret is in use, and since when. \
          Write a new secret into its file. The next request uses the new secret.
          """)
    case .encodedAnswer:
      RefusalRow(
        .upstream, 502, "encoded-answer", "http_protocol_error",
        "The response cannot be searched for the credential",
        grpc: .internalError,
        what: """
          The response is compressed or encoded in a way that bearerd cannot search for the credential. By default \
          (`redact: errors`), bearerd searches only the bodies of 4xx and 5xx responses. It decodes gzip and deflate, \
          up to `limits.decoded_error`. If the body has another known coding, bearerd passes on the upstream's status \
          and header fields, and sends this error text instead of the body. To avoid this, bearerd offers the \
          upstream only gzip, deflate and identity, as far as the program accepts them. If a body is too large or its \
          compressed data is broken, bearerd cuts it off at that place. With `redact: all`, bearerd asks for \
          responses without a coding (`Accept-Encoding: identity`), and refuses an encoded response with 502.
          """,
        todo: """
          If the body was only too large, raise `limits.decoded_error`. Some servers always use the same coding and \
          ignore what bearerd offers. For such a service, set `redact: headers`, so that bearerd passes bodies on \
          without a search.
          """)
    case .redirectToSelf:
      RefusalRow(
        .upstream, 502, "redirect-to-self", "proxy_loop_detected",
        "The upstream's response points to bearerd itself",
        what: """
          A URL in the upstream's response points to a listener of bearerd (in `Location`, `Link` or a similar \
          field). If a program followed this URL, the upstream would decide which credential bearerd adds to the next \
          request.
          """,
        todo: """
          Find out why the upstream uses bearerd's address as its own. Some upstreams build the address from a `Host` \
          or `Forwarded` field.
          """)
    case .unrequestedUpgrade:
      RefusalRow(
        .upstream, 502, "unrequested-upgrade", "http_protocol_error",
        "The upstream switched protocols without being asked",
        what: """
          The upstream responded with 101 and switched to a protocol that the request had not asked for. Or the \
          upstream chose a subprotocol (`Sec-WebSocket-Protocol`) that bearerd had not offered. bearerd never offers \
          subprotocols that carry a credential.
          """,
        todo: "Only the upstream's operator can correct this.")
    case .tooManyInformational:
      RefusalRow(
        .upstream, 502, "too-many-informational", "http_protocol_error",
        "The upstream sent too many interim responses",
        what: """
          The upstream sent too many interim responses (1xx) to one request in too short a time. bearerd accepts 256 \
          responses and 1 MiB at once, then 10 responses and 16 KiB per second. There is no limit for the total \
          number.
          """,
        todo: "Only the upstream's operator can correct this.")
    case .draining:
      RefusalRow(
        .bearerd, 503, "draining", "connection_limit_reached",
        "bearerd is shutting down",
        what: "bearerd is stopping. It finishes the requests in progress and accepts no new requests.",
        todo: "Try again in a moment. If bearerd does not start again, `systemctl status bearerd` shows why.")
    case .listenerRemoved:
      RefusalRow(
        .bearerd, 503, "listener-removed", "destination_unavailable",
        "A reload removed the listener of this request",
        what: """
          A reload removed the listener or changed its address before the response began. bearerd does not move the \
          request to another listener, because that listener can have other rules and credentials. If the log line \
          has `retried=true`, the upstream may have received the request once.
          """,
        todo: "Send the request again, to an address that is in the new configuration.")
    case .auditUnavailable:
      RefusalRow(
        .bearerd, 503, "audit-unavailable", "proxy_internal_error",
        "The required audit record cannot be written",
        what: """
          The configuration has `audit: { required: true }`. The last record could not be written (usually because \
          the disk is full), or bearerd cannot write the records as fast as requests arrive. bearerd tries again each \
          second. Nothing was sent to the upstream.
          """,
        todo: """
          `bearerctl status` and the log (`event=audit-failed`) show the problem. Free some space on the disk, or \
          move the file to another disk and run `bearerctl reload`. bearerd then accepts requests again without a \
          restart.
          """)
    case .internalError:
      RefusalRow(
        .bearerd, 500, "internal-error", "proxy_internal_error",
        "bearerd had an internal error",
        what: """
          A basic part of the system failed: memory, OpenSSL or the system's certificates. Nothing was sent to the \
          upstream, or the request was reset before its end.
          """,
        todo: """
          `detail` in the log says what failed. If a problem of the machine is not the cause, this is a bug: report \
          it.
          """)
    }
  }
}
