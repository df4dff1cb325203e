// Refusals by the rules, by the keyring and by bearerd itself.
extension ErrorText {
  static let badPath = ErrorText(
    "The request line has no path that begins with a slash.", todo: "Correct the program's URL.")

  static let badEscape = ErrorText(
    "The path has a `%` without two hexadecimal digits behind it.",
    todo: "Escape the path once and whole; a literal percent sign is `%25`.")

  static let dotSegment = ErrorText(
    """
    The path has a segment `..`, or has a dot segment as soon as it is read as some upstreams would (`%2e`, `..;x`, \
    `%2F..`). It could lead out of what the rules have allowed (T12). A plain `.` is removed, as browsers do.
    """, todo: "Have the program resolve its paths before it asks. There is no setting that lets these through.")

  static let forbiddenCharacter = ErrorText(
    """
    The path or the query has a control character or a byte outside ASCII; or the path has a backslash, one of \
    `"<>[]^{|}` and the backquote, which a URL writes escaped, or the escape of a backslash or of a control character.
    """,
    todo: """
      Percent-escape it. A backslash, which some servers take for a slash, and control characters pass in no form within \
      the path.
      """)

  static let fragment = ErrorText(
    "The URL in the request line has a `#`. Fragments are for browsers and never sent.",
    todo: "Escape it as `%23` if it belongs to the path or the query, else leave it out.")

  static let ambiguousPath = ErrorText(
    """
    The path has `%2F`, `//` or `;`, which servers read differently, and your rules would decide one reading otherwise \
    than another (T12).
    """,
    todo: """
      `bearerctl explain METHOD URL` shows the decision. Ask without these characters, or write the rules so that all \
      readings fall under the same one.
      """)

  static let clientCredentialField = ErrorText(
    """
    The program sends a credential field of its own, and the service or the rule says `on_client_header: reject`. Its \
    value was not looked at.
    """,
    todo: """
      Take the key out of the program; that is what bearerd is for. Or choose `replace`, by which it is removed and \
      ours put in its place.
      """)

  static let badDestination = ErrorText(
    """
    A WebDAV request names a second place, in `Destination` or in a tag of `If`, and bearerd cannot read it: it is no URL \
    or path, or has what a path may not have.
    """,
    todo: "Name the place as the program names the target: a path, or a URL of the same listener.")

  static let destinationDenied = ErrorText(
    """
    A WebDAV request names a second place, in `Destination` or in a tag of `If`, which is of another service, or to which \
    the rules do not let this request go. It is decided like the target itself, so that a MOVE leads nowhere that a PUT \
    would not (T12).
    """,
    todo: """
      `bearerctl explain METHOD URL -H 'Destination: …'` shows the decision. If the request should pass, write a rule \
      that lets this method go to that place.
      """)

  static let formTooLarge = ErrorText(
    """
    The credential signs requests (`oauth1`), and the parameters of a form with them, so bearerd waits until all of a form is \
    there. It holds 64 KiB of one. Other bodies are not signed, and may have any length.
    """,
    todo: "Let the program send what is large as `multipart/form-data` or JSON, if the API takes that.")

  static let noRule = ErrorText(
    "The service has rules, and none of them matches this method and path. Where rules stand, they are everything.",
    todo: """
      `bearerctl explain METHOD URL` says of each rule why it does not match. If the request should pass, add a rule \
      for it and `bearerctl reload`.
      """)

  static let denied = ErrorText(
    "The first rule of the service that matches has `deny: true`.",
    todo: "`bearerctl explain METHOD URL` says which one, with its line. Somebody meant it.")

  static let noService = ErrorText(
    "No service of this listener stands at this path, host or port.",
    todo: """
      Compare the URL with the `at` of your services (`/NAME/` by default), and with their `listener`: on another one \
      they are not to be found. `bearerctl status` lists them.
      """)

  static let rateLimited = ErrorText(
    """
    The service, or the rule that decided, has a `rate`, and this caller has sent as many requests as it allows. A caller is a user, or \
    the client of a token, or both where both are asked for. Nothing was sent. The members `rate` and `of` of the answer say which limit \
    it is, and `Retry-After` when there is one more.
    """,
    todo: """
      Ask less often, or later: of `60/m` sixty are there at once, and then one comes back each second. `bearerctl explain METHOD URL` says \
      what is left. If the program is right to ask so often, raise the `rate`.
      """)

  static let credentialUnavailable = ErrorText(
    """
    The credential that the rule asks for has no usable secret: the file is missing, empty, open to others or no clean \
    text, or others could exchange a directory or link that leads to it; the systemd credential was not passed; the \
    variable is not set. Nothing was sent in its place.
    """,
    todo: """
      `bearerctl status` and the log (`event=credential-unavailable`) say which source it is and what is wrong with it. \
      Once the file is right, the next request uses it, without a reload.
      """)

  static let tokenUnavailable = ErrorText(
    """
    The credential's tokens come from a token endpoint (`oauth2`) or a login (`login`), the last one is used up, and there is no new one: the endpoint could \
    not be reached, proved another key than its pins, answered with an error, or not in time; or the refresh token that it gave could \
    not be written down. Nothing was sent without a token. `Retry-After` says when the endpoint may be asked again. The answer's \
    `reason` is `no-token`, `not-stored` where the refresh token could not be written, or `token-storm`: five tokens were asked for within \
    thirty seconds, all of them rejected or good for less than two seconds.
    """,
    todo: """
      `bearerctl status` and the log (`event=token-failed`) say what is in the way. Once it is gone, the first request after \
      `Retry-After` asks again, without a reload.
      """)

  static let loginRequired = ErrorText(
    """
    A person has to log in: nobody has yet; or somebody has logged out (`bearerctl logout`); or the credential's token endpoint has said \
    that the refresh token is worth nothing any more (`invalid_grant`), because it was revoked, has expired, or was used elsewhere. It is \
    not asked again with the same one. Or its login URL (`login`) has answered 401: the name or the password is wrong. Nothing was sent \
    without a token.
    """,
    todo: """
      `bearerctl login CREDENTIAL`, if its grant is `device_code` or `authorization_code`. With `refresh_token`, get a new one from the \
      server, and write it into the file that `refresh_token` of the credential's `oauth2` names. The next request uses it, without a \
      reload. If this happens often, see whether something else uses the same login. A right \
      password, in the file that `login` names, is used at once. A credential that was logged out and is no login \
      comes back by another value of its source, or by `bearerctl reload`.
      """)

  static let loggedOut = ErrorText(
    """
    Somebody logged the credential out (`bearerctl logout`) after the request had been sent and before an answer had begun. The connection \
    to the upstream was cut, which does not undo what the request has done there.
    """,
    todo: """
      Find out whether it was carried out before it is sent again, unless sending it twice does no harm. Requests after it get \
      `login-required` until somebody logs in.
      """)

  static let credentialSuspended = ErrorText(
    """
    The upstream has rejected the credential several times in a row (401, 407; ten 403 count as one of them), and it is still the same one. \
    Asked on and on with a wrong password, many upstreams lock the account or ban the address. So nothing is sent there any more, \
    but for one request now and then that tries whether it is good again. `Retry-After` says when the next one may, where another \
    value may come by itself; where a person has to put another secret in its place, the answer has `x-should-retry: false` instead.
    """,
    todo: """
      Put the right secret in its place: the first request with a new one goes out at once. If the old one is right after all, \
      `bearerctl resume CREDENTIAL`. `bearerctl status` says which credential \
      it is and since when the upstream rejects it. `suspend` of the credential sets after how many rejections and for how long, or `off`.
      """)

  static let grantDenied = ErrorText(
    """
    The keyring did not open its door: the credential's `origins` do not name this upstream, or the session is not one \
    of this credential. The configuration's own checks should have found that before.
    """,
    todo: "Compare `origins` of the credential with `upstream` of the service. If they agree, this is a bug: report it."
  )

  static let draining = ErrorText(
    "bearerd has been told to stop, finishes what it has begun, and takes nothing new.",
    todo: "Ask again in a moment. If nothing starts it again, `systemctl status bearerd` says why.")

  static let auditUnavailable = ErrorText(
    """
    The configuration says `audit: { required: true }`, and the last record could not be written (a full disk, mostly), \
    or records come faster than they can be. It is tried again each second.
    """,
    todo: """
      `bearerctl status` and the log (`event=audit-failed`) say what is wrong. Make room, or move the file to another \
      disk and `bearerctl reload`; requests then go out again by themselves.
      """)

  static let internalError = ErrorText(
    "Something that should always work did not: memory, OpenSSL, the system's certificates. Nothing was sent.",
    todo: "`detail` in the log says what it was. If it is not the machine, it is a bug: report it.")
}
