/// An event of the log. Its raw value is the value of `event` in the log line.
package enum LogEvent: String, CaseIterable, Sendable {
  case acceptFailed = "accept-failed"
  case audit
  case auditFailed = "audit-failed"
  case auditLost = "audit-lost"
  case auditWorks = "audit-works"
  case backupPin = "backup-pin"
  case callerLimit = "caller-limit"
  case callersUnknown = "callers-unknown"
  case challengeUnmet = "challenge-unmet"
  case clockStepped = "clock-stepped"
  case commandNotTold = "command-not-told"
  case commandValueRejected = "command-value-rejected"
  case configuration
  case configurationReadable = "configuration-readable"
  case connectionLimit = "connection-limit"
  case control
  case credentialChanged = "credential-changed"
  case credentialCut = "credential-cut"
  case credentialDenied = "credential-denied"
  case credentialRebound = "credential-rebound"
  case credentialResumed = "credential-resumed"
  case credentialShort = "credential-short"
  case credentialSuspended = "credential-suspended"
  case credentialUnavailable = "credential-unavailable"
  case credentialUnusable = "credential-unusable"
  case descriptorLimit = "descriptor-limit"
  case expiresSoon = "expires-soon"
  case http2Ended = "http2-ended"
  case listenFailed = "listen-failed"
  case listener
  case listening
  case logLinesDropped = "log-lines-dropped"
  case loggedIn = "logged-in"
  case loggedOut = "logged-out"
  case loginBegun = "login-begun"
  case loginCancelled = "login-cancelled"
  case loginFailed = "login-failed"
  case loginNotStored = "login-not-stored"
  case loginNotWiped = "login-not-wiped"
  case loginRequired = "login-required"
  case loopStalled = "loop-stalled"
  case loopStuck = "loop-stuck"
  case memoryNotLocked = "memory-not-locked"
  case noControlSocket = "no-control-socket"
  case pin
  case probe
  case proxyNotUsed = "proxy-not-used"
  case rateLimited = "rate-limited"
  case ready
  case refusalsNotLogged = "refusals-not-logged"
  case reloadFailed = "reload-failed"
  case reloaded
  case reportFailed = "report-failed"
  case request
  case revoked
  case secretsNotWatched = "secrets-not-watched"
  case socketNotUsed = "socket-not-used"
  case stopped
  case stopping
  case systemdCredentials = "systemd-credentials"
  case tokenFailed = "token-failed"
  case tokenNotRevoked = "token-not-revoked"
  case tokenRemark = "token-remark"
  case tokenRevoked = "token-revoked"
  case tokenStorm = "token-storm"

  package var row: LogEventRow {
    switch self {
    case .acceptFailed:
      LogEventRow(
        .error, "listener detail",
        "The system could not accept a connection for this listener. bearerd tries again by itself.",
        todo: """
          If `detail` says that too many files are open, raise `LimitNOFILE=` of the unit or lower `limits.connections`.
          """)
    case .audit:
      LogEventRow(
        .notice, "state file n chain",
        """
        The audit file was opened or closed, or it has grown by 10,000 records. `n` and `chain` are those of its last \
        record.
        """,
        todo: """
          Store these lines apart from the audit file. You need their `chain` for `bearerctl audit verify --head`.
          """)
    case .auditFailed:
      LogEventRow(
        .error, "file detail help",
        "bearerd cannot write to the audit file. It keeps the records in memory and tries again each second.",
        todo:
          """
          Free disk space, or solve the problem in `detail`. Until then, new requests get 503 if `audit` has \
          `required: true`.
          """)
    case .auditLost:
      LogEventRow(
        .error, "file records detail",
        "bearerd could not write the last records before it closed the audit file. These records are lost.",
        todo: "Find out why the disk is full or does not respond. The log still has a line for each of these requests.")
    case .auditWorks:
      LogEventRow(
        .notice, "file dropped",
        """
        bearerd can write to the audit file again. `dropped` is the number of records that were lost in between. The \
        file also has this number.
        """)
    case .backupPin:
      LogEventRow(
        .warning, "upstream first matched help",
        """
        The key of the pin `first` is no longer in the upstream's certificate chain. Another pin of the list, `matched`, \
        still matches, so requests continue. Logged once per change.
        """,
        todo: """
          If the change was planned, list the matching pin first, and add the pin of a new backup key: \
          `bearerctl pin HOST` prints the pins in use. Otherwise, ask the operator of the upstream.
          """)
    case .callerLimit:
      LogEventRow(
        .warning, "uid requests connections refused help",
        """
        A user has reached the limit for requests or connections per user. bearerd refused further requests or \
        connections.
        """,
        todo: "Check what this user runs, or raise the limit that `help` names.")
    case .callersUnknown:
      LogEventRow(
        .error, "detail help",
        """
        bearerd cannot ask the kernel which user opened a TCP connection. It refuses every caller on a loopback \
        address.
        """,
        todo: "Let bearerd use the netlink socket that `detail` names, or do what `help` says.")
    case .challengeUnmet:
      LogEventRow(
        .warning, "credential upstream detail",
        "The upstream asks for an authentication scheme that this credential does not support. bearerd logs this once.",
        todo: "Compare `detail` with the scheme and the parameters of the credential in the configuration.")
    case .clockStepped:
      LogEventRow(
        .notice, "seconds detail",
        "The system's clock was set forward or back by `seconds` seconds. bearerd noticed this at the next request.",
        todo: "If you did not change the clock, check the machine's time service.")
    case .commandNotTold:
      LogEventRow(
        .warning, "program verb detail",
        "bearerd could not tell a credential helper to store or to erase a value.",
        todo: "Run the program by hand with the argument in `verb`, and solve the problem in `detail`.")
    case .commandValueRejected:
      LogEventRow(
        .notice, "program detail",
        "An upstream rejected the value that a credential command printed. bearerd runs the command again.")
    case .configuration:
      LogEventRow(
        .warning, or: .error, "file line detail",
        """
        The configuration has a problem. This is an error if the configuration cannot be used, and otherwise a \
        warning.
        """,
        todo: "Correct the line that `file` and `line` name. `bearerctl check` shows the same problem.")
    case .configurationReadable:
      LogEventRow(
        .notice, "detail help",
        "The configuration can be read now. An earlier reload could not read it in time.",
        todo: "Reload again.")
    case .connectionLimit:
      LogEventRow(
        .warning, "connections help",
        "The maximum number of connections is open. New connections wait until other connections close.",
        todo: "Find out which programs keep connections open, or raise `limits.connections`.")
    case .control:
      LogEventRow(.notice, "address", "The control socket is open at `address`. `bearerctl` connects to this socket.")
    case .credentialChanged:
      LogEventRow(
        .notice, "credential credential_generation", "The credential has a new value, which bearerd now uses.")
    case .credentialCut:
      LogEventRow(
        .notice, "credential requests connections",
        """
        The credential has the value of another account, and `on_change: cut`. bearerd cut the requests and idle \
        connections that the old value had opened. The fields say how many of each. Each worker logs its own. A worker \
        that had nothing to cut logs nothing.
        """)
    case .credentialDenied:
      LogEventRow(
        .warning, "credential detail",
        "The keyring did not release a credential, although the rules had allowed the request. Nothing was sent.",
        todo: "Report this as a bug: the rules should have refused the request before.")
    case .credentialRebound:
      LogEventRow(
        .notice, "credential added removed",
        "A reload has changed the credential's origins, the callers who may use it, or the source of its secret.",
        todo: "Check that `added` is what you intended.")
    case .credentialResumed:
      LogEventRow(
        .notice, "credential credential_generation upstream reason",
        """
        The suspension of a credential has ended: the upstream accepted it, it has a new value, or you ran `bearerctl \
        resume`.
        """)
    case .credentialShort:
      LogEventRow(
        .warning, "credential detail",
        """
        The credential has a value of fewer than 8 bytes. Ordinary text can contain such a value, so bearerd does not \
        mask it in responses.
        """,
        todo: "Get a longer secret from the provider.")
    case .credentialSuspended:
      LogEventRow(
        .warning, "credential credential_generation upstream rejections seconds help",
        """
        The upstream rejected the credential several times in a row. bearerd does not send it to this upstream for \
        `seconds` seconds.
        """,
        todo: """
          Write a valid secret into its source. bearerd uses the new secret at once. If the old secret is right, run \
          `bearerctl resume`.
          """)
    case .credentialUnavailable:
      LogEventRow(
        .warning, "credential credential_generation detail",
        "The credential has no value. Requests that need it get 503.",
        todo: "Repair the source as `detail` says. bearerd reads the source again when it changes.")
    case .credentialUnusable:
      LogEventRow(
        .warning, "credential credential_generation detail",
        "The source of the credential can no longer be used. bearerd continues to use the previous value.",
        todo: "Repair the source as `detail` says. If bearerd restarts before that, the credential has no value.")
    case .descriptorLimit:
      LogEventRow(
        .notice, "connections wanted help",
        """
        The system allows bearerd too few file descriptors for `limits.connections`. bearerd accepts only \
        `connections` connections.
        """,
        todo: "Raise `LimitNOFILE=` of the unit, or `ulimit -n`.")
    case .expiresSoon:
      LogEventRow(
        .warning, "what name at days detail",
        """
        Something expires: pins (`pins`), the certificate of an upstream (`upstream-certificate`), a client certificate \
        (`client-certificate`), or a certificate in a `ca_file` (`ca-file`). bearerd logs this 30 days, 7 days and 1 day \
        before, and when it has expired. For a certificate, only the times within the last third of its validity count.
        """,
        todo: "Renew it. `bearerctl status` and the metric `bearerd_expiry_timestamp_seconds` show the dates.")
    case .http2Ended:
      LogEventRow(
        .warning, or: .notice, "uid unit code detail",
        """
        bearerd ended the HTTP/2 connection of a program, and sent GOAWAY with the error code `code`. `detail` says why. \
        This is a warning if the program violated HTTP/2 or was too slow. The ends of idle connections, and of those whose \
        listener was removed, are not logged.
        """,
        todo: "For a warning, find out what the program sends, or raise the limit that `detail` names.")
    case .listenFailed:
      LogEventRow(
        .error, "detail",
        "A reload added a listener and bound its address, but the system refuses to listen on it.",
        todo: "Solve the problem in `detail`, and restart bearerd.")
    case .listener:
      LogEventRow(
        .warning, "listener detail help",
        "A listener accepts connections, but the socket that systemd passed for it differs from the configuration.",
        todo: "Do what `help` says.")
    case .listening:
      LogEventRow(
        .notice, "listener held_by address",
        "A listener accepts connections at `address`. `held_by=systemd` means that systemd has bound the socket.")
    case .logLinesDropped:
      LogEventRow(
        .warning, "count",
        "bearerd dropped `count` log lines, because the program that reads the log is too slow.",
        todo: "Check the program that reads the log. The metrics still count every request.")
    case .loggedIn:
      LogEventRow(
        .notice, "credential detail", "A login was successful. Its token is stored, and bearerd now uses it.")
    case .loggedOut:
      LogEventRow(
        .notice, "credential requests connections cookies",
        """
        `bearerctl logout` cut the requests and idle connections of this credential, and deleted its cookies. The \
        fields say how many of each.
        """)
    case .loginBegun:
      LogEventRow(.notice, "credential", "`bearerctl login` has started a login.")
    case .loginCancelled:
      LogEventRow(
        .notice, "credential detail", "A login ended without a result, because `bearerctl login` was interrupted.")
    case .loginFailed:
      LogEventRow(
        .notice, "credential detail", "A login failed, and bearerd got no token.",
        todo: "Solve the problem in `detail`, and run `bearerctl login` again.")
    case .loginNotStored:
      LogEventRow(
        .error, "credential detail",
        "bearerd could not store the tokens that the authorization server sent for a login.",
        todo: """
          Make the state directory writable. bearerd tries again by itself, and uses the new tokens only after it has \
          stored them.
          """)
    case .loginNotWiped:
      LogEventRow(
        .error, "credential detail",
        "A logout could not delete the stored login from the state directory.",
        todo: "Make the state directory writable, and run `bearerctl logout` again.")
    case .loginRequired:
      LogEventRow(
        .error, "credential detail",
        """
        The credential has no token, and bearerd cannot get a token until a person logs in or replaces a secret. \
        Requests get 503.
        """,
        todo: "Run `bearerctl login`, or write a new refresh token or password into its file.")
    case .loopStalled:
      LogEventRow(
        .warning,
        "worker milliseconds cpu-milliseconds steps longest-step longest-step-milliseconds omitted",
        """
        One turn of a worker's event loop took 100 ms or more. During this time, all connections of this worker had to \
        wait.
        """,
        todo: "Check whether the processors are overloaded or a file system is slow. If not, report this as a bug.")
    case .loopStuck:
      LogEventRow(
        .error, "worker step milliseconds detail",
        """
        A worker's event loop is stuck in the step that `step` names. bearerd therefore no longer tells systemd that \
        it is healthy.
        """,
        todo: "Let systemd restart bearerd, and report this line as a bug.")
    case .memoryNotLocked:
      LogEventRow(
        .warning, "detail",
        "The system allows too little locked memory, so secrets could be written to swap.",
        todo: "Raise `LimitMEMLOCK=` of the unit, or `ulimit -l`.")
    case .noControlSocket:
      LogEventRow(
        .warning, "path detail help",
        """
        There is no control socket, so `bearerctl` cannot reach this daemon. You can still reload the configuration \
        with SIGHUP.
        """,
        todo: "Do what `help` says.")
    case .pin:
      LogEventRow(
        .warning, "upstream detail",
        """
        No pin matches an upstream's certificates, and `pin_mode: report` allows this. Or `detail` has advice on the \
        pins.
        """,
        todo: "Find out why the upstream's keys changed. `bearerctl pin HOST` prints the pins for its current keys.")
    case .probe:
      LogEventRow(
        .warning, or: .notice, "service upstream refused detail",
        """
        bearerd opened a TLS connection to the upstream without a request, and failed. `refused` is the error code that \
        a request would get. A line without `refused` says that a probe succeeded after a failure. Logged once per change.
        """,
        todo: "`bearerctl errors CODE` explains the code in `refused`.")
    case .proxyNotUsed:
      LogEventRow(
        .notice, "names help",
        "The environment variables in `names` set a proxy, but bearerd does not use a proxy.",
        todo: """
          Make sure that bearerd can reach each upstream directly. To silence this line, remove the variables from its \
          environment.
          """)
    case .rateLimited:
      LogEventRow(
        .warning, "service rule uid client rate refused help",
        """
        A caller sent more requests than `rate` of the service or the rule allows. One line can report several refused \
        requests.
        """,
        todo: "Check what this caller runs, or raise `rate`.")
    case .ready:
      LogEventRow(.notice, "version configuration", "The daemon has started and accepts requests.")
    case .refusalsNotLogged:
      LogEventRow(
        .warning, "count detail",
        """
        bearerd refused `count` more requests without a log line for each. They came from users who are not allowed, \
        or over a network without a client token.
        """,
        todo: "Find out which programs send these requests. The metrics count all of them.")
    case .reloadFailed:
      LogEventRow(
        .error, "detail still",
        "A reload failed. The previous configuration is still in use.",
        todo: "Solve the problem in `detail` or in the lines before this one, and reload again.")
    case .reloaded:
      LogEventRow(
        .notice, "generation",
        "The configuration was reloaded and is in use. `generation` counts the loads since the daemon started.")
    case .reportFailed:
      LogEventRow(
        .warning, "to detail",
        """
        bearerd could not send a report of a failed verification to the server of `reports`, and does not try again. \
        Logged once per change.
        """,
        todo: "Solve the problem in `detail`. The lines of the failed requests name the upstream.")
    case .request:
      LogEventRow(
        .info, or: .warning,
        """
        service rule upstream credential credential_generation uid unit client method path status http upstream_http \
        grpc_status refused up down ms generation removed repaired dropped preflight credential_rejected redacted withheld retried retries reused \
        renewed aborted reason detail help
        """,
        """
        One request and its response. This is a warning if bearerd refused the request, if the upstream rejected the \
        credential, or if bearerd masked the credential or withheld a body.
        """
      )
    case .revoked:
      LogEventRow(
        .notice, "exchanges",
        """
        After a reload, `exchanges` requests in progress are no longer allowed. bearerd cuts them after \
        `limits.revoked_grace`.
        """)
    case .secretsNotWatched:
      LogEventRow(
        .warning, "directory detail",
        """
        bearerd cannot notice when secrets in `directory` change. If the line has no `directory`, this applies to all \
        secret files.
        """,
        todo: """
          Reload after each change of a secret, or raise the system settings `fs.inotify.max_user_watches` or \
          `max_user_instances`.
          """)
    case .socketNotUsed:
      LogEventRow(
        .warning, "name address detail help",
        "systemd passed a socket that no listener uses. bearerd closed it.",
        todo: """
          Write `address: systemd:NAME` in a listener, or remove the socket from the socket unit. Then restart bearerd.
          """)
    case .stopped:
      LogEventRow(.notice, "cut", "The daemon stopped. It cut `cut` connections that were still busy.")
    case .stopping:
      LogEventRow(
        .notice, "connections",
        "The daemon is stopping. It lets `connections` connections finish their requests first.")
    case .systemdCredentials:
      LogEventRow(
        .notice, "credentials detail",
        """
        A reload read these credentials again from systemd. systemd may still have the values from the start of the \
        unit.
        """,
        todo: "If the credentials have changed, restart bearerd.")
    case .tokenFailed:
      LogEventRow(
        .warning, "credential detail",
        "A token endpoint or a login URL gave no usable token. bearerd asks again by itself.",
        todo: "Solve the problem in `detail`. `bearerctl status` shows when bearerd asks again.")
    case .tokenNotRevoked:
      LogEventRow(
        .warning, "credential token detail",
        "After a logout, this token was not revoked at the server. `detail` says why.",
        todo: "Revoke the token at the server yourself, or let it expire.")
    case .tokenRemark:
      LogEventRow(
        .notice, "credential detail",
        "A response with a token differs from what bearerd expected. bearerd logs each difference only once.",
        todo: """
          `detail` names the difference. If it is the scope, check `scope` in the configuration. If it is a date, check \
          the clock of this machine.
          """)
    case .tokenRevoked:
      LogEventRow(.notice, "credential token", "After a logout, the server revoked this token.")
    case .tokenStorm:
      LogEventRow(
        .warning, "credential detail",
        """
        bearerd requested several tokens in a short time, because each was rejected or expired at once. The next \
        request for a token has to wait.
        """,
        todo: "Find out why the upstream rejects new tokens. Usually the API needs another scope or audience.")
    }
  }
}

package enum LogLevel: String, Sendable { case error, warning, notice, info }

package struct LogEventRow: Sendable {
  package let level: LogLevel
  /// Another level that lines of this event can have. `nil` if all lines have `level`.
  package let otherLevel: LogLevel?
  /// The names of the fields that can follow `event` in a line, in this order, with spaces between them.
  package let fields: StaticString
  /// The meaning of the event. May contain Markdown's backticks and links.
  package let what: StaticString
  /// What the operator should do. `nil` if nothing needs to be done.
  package let todo: StaticString?

  init(
    _ level: LogLevel, or otherLevel: LogLevel? = nil, _ fields: StaticString, _ what: StaticString,
    todo: StaticString? = nil
  ) {
    self.level = level
    self.otherLevel = otherLevel
    self.fields = fields
    self.what = what
    self.todo = todo
  }
}
