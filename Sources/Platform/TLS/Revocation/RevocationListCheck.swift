internal import COpenSSL

/// Checks verified chains against the revocation lists of their store (RFC 5280 section 6.3).
enum RevocationListCheck {
  // Only a complete list of the certificate's own issuer counts. Delta lists, indirect lists and lists that another
  // authority signs would need X509_V_FLAG_EXTENDED_CRL_SUPPORT and more code of OpenSSL.

  /// Makes `check` check the chains of this store, which has lists.
  static func install(in store: OpaquePointer) {  // X509_STORE
    X509_STORE_set_lookup_crls(store) { context, issuer in
      // An anchor is trusted because it is in the store. No list of its issuer could be verified.
      guard let context, !RevocationListCheck.isAnchor(context) else { return nil }
      return X509_STORE_CTX_get1_crls(context, issuer)
    }
    X509_STORE_set_check_crl(store) { context, list in
      guard let context, let list, let state = RevocationListCheck.state(of: context) else { return 0 }
      let end = seconds(X509_CRL_get0_nextUpdate(list)) ?? 0
      state.listsEnd = min(state.listsEnd ?? .max, end)
      return RevocationListCheck.standardCheck?(context, list) ?? 0
    }
  }

  /// Checks a chain that OpenSSL has just verified, and notes whether its leaf is an anchor. Returns 1 if no certificate
  /// is revoked, or if the store has no lists.
  static func check(_ context: OpaquePointer) -> Int32 {  // X509_STORE_CTX
    if let state = state(of: context) { state.leafIsAnchor = X509_STORE_CTX_get_num_untrusted(context) == 0 }
    guard X509_STORE_get_check_crl(X509_STORE_CTX_get0_store(context)) != nil else { return 1 }
    guard let check = X509_STORE_CTX_get_check_revocation(context) else { return 0 }
    X509_STORE_CTX_set_flags(context, UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL))
    return check(context)
  }

  /// Whether the error of `context` is only that no list of an intermediate's issuer is in the file. Then removes the
  /// error.
  static func tolerates(_ context: OpaquePointer) -> Bool {
    guard X509_STORE_CTX_get_error(context) == X509_V_ERR_UNABLE_TO_GET_CRL,
      X509_STORE_CTX_get_error_depth(context) > 0
    else { return false }
    X509_STORE_CTX_set_error(context, X509_V_OK)
    return true
  }

  /// Whether a verification result (X509_V_ERR_…) says that a revocation list is missing or cannot be used.
  static func isListError(_ code: Int32) -> Bool {
    switch code {
    case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_UNABLE_TO_DECRYPT_CRL_SIGNATURE, X509_V_ERR_CRL_SIGNATURE_FAILURE,
      X509_V_ERR_CRL_NOT_YET_VALID, X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD,
      X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD, X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER,
      X509_V_ERR_KEYUSAGE_NO_CRL_SIGN, X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION, X509_V_ERR_DIFFERENT_CRL_SCOPE,
      X509_V_ERR_CRL_PATH_VALIDATION_ERROR:
      true
    default: false
    }
  }

  private static func isAnchor(_ context: OpaquePointer) -> Bool {
    let depth = X509_STORE_CTX_get_error_depth(context)
    return depth > 0 && depth == bearerd_sk_X509_num(X509_STORE_CTX_get0_chain(context)) - 1
  }

  private static func state(of context: OpaquePointer) -> ConnectionState? {
    X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx())
      .flatMap { TLSConnection.state(of: OpaquePointer($0)) }
  }

  /// OpenSSL's check of a list: its scope, time and signature.
  private static let standardCheck: X509_STORE_CTX_check_crl_fn? = {
    // Only a verification context returns it.
    guard let store = X509_STORE_new() else { return nil }
    defer { X509_STORE_free(store) }
    guard let context = X509_STORE_CTX_new() else { return nil }
    defer { X509_STORE_CTX_free(context) }
    return X509_STORE_CTX_init(context, store, nil, nil) == 1 ? X509_STORE_CTX_get_check_crl(context) : nil
  }()
}
