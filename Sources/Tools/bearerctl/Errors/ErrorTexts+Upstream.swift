// Refusals on the way to the upstream, where nothing was sent, and of its answers.
extension ErrorText {
  static let nameNotFound = ErrorText(
    "The name server says that the upstream's name does not exist, or has no address.",
    todo: """
      Look for a slip in `upstream`. `getent ahosts NAME`, run on this machine, asks in the same way as bearerd. If this \
      machine reaches other machines only through a proxy (`HTTPS_PROXY` is set for your programs): bearerd connects by \
      itself and asks no proxy yet, so the upstream has to be reachable from here.
      """)

  static let nameLookupFailed = ErrorText(
    """
    The question for the upstream's name had no answer: no name server could be reached, or it failed itself (SERVFAIL). \
    Whether the name exists is not known. `detail` in the log has the system's word; EAI_AGAIN is the usual one.
    """,
    todo: """
      Ask again in a while. If it stays, see whether the machine has a network, and what `/etc/resolv.conf` names; \
      `getent ahosts NAME` asks in the same way as bearerd.
      """)

  static let nameTimeout = ErrorText(
    "No name server answered within `timeouts.connect`.",
    todo: "See whether the machine has a network, and what `/etc/resolv.conf` names. Then ask again.")

  static let addressForbidden = ErrorText(
    """
    The upstream's name leads to an address of this machine, of the local link or of a cloud's metadata service. Whoever \
    answers for that name could send the credential there (T28). `detail` in the log has the address.
    """,
    todo: """
      If the name is meant to lead there, list the network in `allow_addresses` of the service. If not, somebody should \
      look at your name server.
      """)

  static let connectionRefused = ErrorText(
    "Nobody listens at the upstream's address and port.", todo: "See whether the upstream runs, and compare the port.")

  static let connectionFailed = ErrorText(
    "No connection could be made: no route, no network, or a firewall that says so. `detail` in the log has the system's word.",
    todo: "`curl -v` to the upstream from this machine shows the same.")

  static let connectionTimeout = ErrorText(
    "The upstream's address did not answer within `timeouts.connect`, 10 s unless you say otherwise.",
    todo: "Mostly a firewall that drops packets, or an upstream that is down. Raising the time rarely helps.")

  static let handshakeFailed = ErrorText(
    """
    TLS could not be agreed on: the other side speaks none, only versions below 1.2, no HTTP/1.1 within it (HTTP/2 \
    alone), or closed in the middle. `detail` in the log has OpenSSL's word.
    """,
    todo: "`openssl s_client -connect HOST:PORT` shows the other side's view. A port for plain HTTP is the usual cause."
  )

  static let handshakeTimeout = ErrorText(
    "The connection was made, and the TLS handshake was not finished within `timeouts.handshake`.",
    todo: "The upstream is overloaded, or something between swallows packets. Ask again.")

  static let certificateInvalid = ErrorText(
    """
    The upstream's certificate does not lead to an authority that is trusted here, or may not be used for a server. \
    Nothing was sent. The chain is checked against the system's store or, if the service has one, against its `ca_file` \
    alone.
    """,
    todo: """
      For an upstream with an authority of its own, say `ca_file`. For any other, somebody may stand in between: look \
      at `bearerctl pin HOST` and at `detail` in the log before you change anything.
      """)

  static let certificateExpired = ErrorText(
    "A certificate of the upstream's chain is expired, or not valid yet. Nothing was sent.",
    todo: "Check this machine's clock with `date`. If it is right, only the upstream's operator can help.")

  static let hostnameMismatch = ErrorText(
    "The upstream's certificate is trusted, but for another name. Nothing was sent.",
    todo: "`detail` in the log has both names. `upstream` has to be the name on the certificate, not an alias of it.")

  static let pinMismatch = ErrorText(
    """
    Chain and name are right, but none of the public keys in the chain is one of the service's `pins`. Either the upstream has changed \
    its key, or somebody shows a certificate that another authority has issued. Nothing was sent.
    """,
    todo: """
      `detail` in the log has the keys that were seen. Ask the upstream's operator, by another way than this one, \
      whether the new key is theirs; only then put its pin in with `bearerctl pin HOST`.
      """)

  static let pinsExpired = ErrorText(
    "The date in `pins_expire` has come. You chose that nothing is sent from then on.",
    todo: "Find out which pins are right now, put them in with a new date, and `bearerctl reload`.")

  static let upstreamClosed = ErrorText(
    """
    The upstream took the request and closed the connection before it had answered. Whether it acted on the request is not known; \
    where that would do no harm, bearerd has tried a second time.
    """, todo: "See the upstream's log. For a request that changes something, look before you repeat it.")

  static let upstreamMalformed = ErrorText(
    """
    The upstream's answer is not clean HTTP/1.1: two lengths, odd codings, stray bytes, an answer to nobody, or another \
    protocol altogether. `reason` in the log says what it was, in the words of [malformed-request](#malformed-request).
    """,
    todo:
      "`curl -v` may show it. It is for the upstream, or what stands before it, to correct: guessing here is how caches get poisoned (T26)."
  )

  static let upstreamTimeout = ErrorText(
    "The upstream has the request, and did not answer within `timeouts.response_head`, `body_silence` or `total`.",
    todo: "If it needs long by nature, raise that time for this service. Look before you repeat what changes something."
  )

  static let credentialRejected = ErrorText(
    """
    The upstream answered 401 or 407 to the credential that bearerd added, and the service says `on_rejected: "502"`. The \
    program cannot help it: it has no credential.
    """,
    todo: """
      The secret is wrong, expired or revoked. `bearerctl status` shows since when which one is in use. Put a new one \
      in its file; the next request uses it.
      """)

  static let encodedAnswer = ErrorText(
    """
    The answer came compressed or otherwise coded, and in it the credential would not be found. By default (`redact: errors`) \
    that concerns bodies of 4xx and 5xx alone: gzip and deflate are decoded, up to 256 KiB, and of any other coding the \
    upstream's status and fields go on, with this text in the place of the body. What turns out to be larger, or broken, is cut \
    where it stands. With `redact: all` answers are asked for uncoded (`Accept-Encoding: identity`), and one that is coded all \
    the same is refused with 502.
    """,
    todo: """
      Have the program accept `gzip` alone, or set that for the service: `set_headers: { Accept-Encoding: gzip }`. Some servers \
      keep what they send in one form only: for such a service, `redact: headers` lets bodies pass unread.
      """)

  static let redirectToSelf = ErrorText(
    """
    The upstream's answer points to a listener of bearerd (`Location`, `Link` and the like). Followed, the next request \
    would carry a credential that its sender chose.
    """,
    todo: "Find out why the upstream believes to be at that address; some build it from a `Host` or `Forwarded` field.")

  static let unrequestedUpgrade = ErrorText(
    "The upstream answered 101 and switched to another protocol that nobody had asked for.",
    todo: "It is for the upstream to correct.")

  static let tooManyInformational = ErrorText(
    "The upstream sent more than 32 interim answers (1xx) to one request.", todo: "It is for the upstream to correct.")
}
