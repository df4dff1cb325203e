// Refusals by the HTTP parser and by admission: what the program sent, and who it is.
extension ErrorText {
  static let malformedRequest = ErrorText(
    """
    What arrived is not HTTP/1.1, or is in a way that another server might read differently. `reason` in the body, and \
    in the log, says what it was; the list is below. The connection is closed, because where the next request would \
    begin is not certain.
    """,
    todo: """
      Correct the program. If it is a well-known one, look for something between it and bearerd that changes requests; \
      a program that speaks TLS or HTTP/2 to a port for plain HTTP/1.1 gets this answer too: the base URL begins with \
      `http://`.
      """)

  static let reservedFieldInConnection = ErrorText(
    """
    The `Connection` field of the request names a field that may not be removed on the way, such as `Authorization` or \
    `Host`. Obeying would let a program take out what bearerd puts in.
    """, todo: "Correct the program: `Connection` lists `close`, `keep-alive` and fields that end at the next hop.")

  static let requestTimeout = ErrorText(
    """
    The request began, and its head or the next piece of its body did not arrive in time; or the body came, but at less \
    than `limits.client_body_rate` over as long as `timeouts.body_silence`.
    """,
    todo: """
      See why the program stops. Should it be slow by nature, raise `limits.client_head` for the head, or \
      `timeouts.body_silence` of the service for the body, or lower `limits.client_body_rate`.
      """)

  static let targetTooLong = ErrorText(
    "The path and query of the request are longer than `limits.target`, 16 KiB unless you say otherwise.",
    todo: "Send long parameters in a body, or raise `limits.target`.")

  static let unknownExpectation = ErrorText(
    "The `Expect` field asks for something other than `100-continue`, which is all that there is (RFC 9110, 10.1.1).",
    todo: "Leave the field out.")

  static let headTooLarge = ErrorText(
    """
    The fields of the request, or its trailers, are larger than `limits.head` (64 KiB) or more than `limits.fields` (128).
    """,
    todo: "See what grew: mostly cookies or a token that is no token. Or raise the limit.")

  static let unknownTransferCoding = ErrorText(
    "The request has a `Transfer-Encoding` other than `chunked`.",
    todo: "Compress with `Content-Encoding`, which is passed on, and send the body chunked or with its length.")

  static let versionNotSupported = ErrorText(
    "The request line names a version of HTTP other than 1.0 and 1.1.",
    todo: "Have the program speak HTTP/1.1. HTTP/2 is not spoken on this side, not even without TLS.")

  static let callerNotAllowed = ErrorText(
    """
    The kernel says which user opened the connection, and `allow_users` and `allow_groups` (of the listener, of the \
    service or of the credential) do not list that user. Which of them it was is not told to the caller.
    """,
    todo: """
      The log has a line with `refused=caller-not-allowed` whose `help` is the line to add. If the user should not be \
      let in, there is nothing to do. Root is a user like any other.
      """)

  static let callerUnknown = ErrorText(
    """
    The kernel could not say who opened this connection: it comes from another network namespace (a container), was \
    redirected on its way, or its other end was closed already.
    """,
    todo: """
      Ask from a program on this machine, or give the container the Unix socket of a listener: over that, the kernel \
      always knows.
      """)

  static let clientUnknown = ErrorText(
    """
    The listener has `clients`, so each request needs the token of one of them, and none came, or a key that is no such token, or one that is nobody's. \
    The upstream was not asked.
    """,
    todo: """
      Give the program a client token where its API key would go: as the key of its SDK, in `Authorization: Bearer`, in \
      `X-Api-Key`, or as the password of `Basic`. It is taken out of the request before it goes on. `bearerctl token NAME` \
      makes one and prints the line for `clients`. The log says which of these it was. git sends a password \
      only when it is asked for one, which bearerd does not do: `git config http.extraHeader "Authorization: Bearer …"`.
      """)

  static let clientNotAllowed = ErrorText(
    "`allow_clients` of the service or of the credential does not name the client whose token came.",
    todo: """
      The log has a line with `refused=client-not-allowed` whose `help` names the line. If the client should not be let \
      in, there is nothing to do.
      """)

  static let originNotAllowed = ErrorText(
    """
    The request has an `Origin` field, so a web page sent it. Pages may not use credentials, whichever user the browser \
    runs as (T2), but for those whose origin stands in `browsers` of the listener. `null` is the origin of pages that have \
    none of their own, such as files, and cannot be listed.
    """,
    todo: """
      If the page is yours, add its origin: the answer's `add` is the line, and the log has it together with the origins \
      that are listed already. If a program adds `Origin` by itself, it can mostly be told not to.
      """)

  static let crossSite = ErrorText(
    """
    The request has a `Sec-Fetch-Site` field with another value than `none`, so a web page sent it, and no `Origin`, so \
    that nobody can say which page it was. Links, frames and plain images are like that. They do not get through for pages \
    that are listed either: anybody whom such a page refers to could send them back here by a redirect (T2).
    """,
    todo: """
      In a page that is listed, use `fetch` (not with `no-cors`), or write `crossorigin` into the element. Typing the \
      address into the browser works, for looking at something.
      """)

  static let siteUnknown = ErrorText(
    """
    The request came by a name from `hosts` that is not localhost, and it looks like a browser's: `User-Agent` begins with \
    `Mozilla/` and names `AppleWebKit/`, `Gecko/` or `Firefox/`, or there is an `Accept-Language` beside it. To such a name a browser sends no `Sec-Fetch-Site`, and with links, frames \
    and images no `Origin` either, so that nobody can say whether a page is behind it (T2).
    """,
    todo: """
      In a browser, use `localhost`, `127.0.0.1` or a name that ends in `.localhost`, with the listener's port: to these it \
      says where a request comes from. A program that calls itself a browser can mostly be told to send another `User-Agent`. \
      Or give the listener `clients`: no page has their tokens, and nothing is guessed.
      """)

  static let methodNotSupported = ErrorText(
    """
    TRACE and TRACK would send the credential back in a body, and CONNECT would be a tunnel past every rule.
    """,
    todo:
      "Use another method. A program that sends CONNECT takes bearerd for a forward proxy: give it a base URL instead.")

  static let hostNotAllowed = ErrorText(
    """
    The `Host` field is none of the listener's names. That is how a web page under a foreign name would reach this port \
    (DNS rebinding, T1).
    """,
    todo: """
      Call the listener `localhost` with its port. Where a program has to call it something else, such as \
      `host.docker.internal:7070`, add that to `hosts` of the listener. It is for programs: browsers are refused by such a \
      name, as `site-unknown`.
      """)

  static let authorityMismatch = ErrorText(
    """
    The request line holds a whole URL, and it names another server than this listener. The program takes bearerd for \
    a forward proxy.
    """,
    todo: "Unset `http_proxy` for this program, and give it the service's local address as its base URL.")

  static let tooManyConnections = ErrorText(
    """
    The user who connected has as many connections open as one user may have (`limits.connections_per_user`). The new \
    one was closed before anything was read from it, so that there is room for others. Users whom the listener does not \
    admit count as one, all together, and get an eighth of all connections; a connection over a network is one of theirs \
    until a client token has come.
    """,
    todo: """
      See which program opens so many: `ss -tnp` shows them. One that keeps connections and uses each once wants a pool. \
      Or raise `limits.connections_per_user`.
      """)

  static let tooManyRequests = ErrorText(
    """
    The user who asks has as many requests under way as one user may have (`limits.requests_per_user`). WebSockets, and \
    answers that are still being read, count. Nothing was sent; the same request may be sent again.
    """,
    todo: "Ask for less at once, or raise `limits.requests_per_user`.")
}
