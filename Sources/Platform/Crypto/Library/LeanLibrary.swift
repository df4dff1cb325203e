internal import COpenSSL

/// A library context of OpenSSL for connections to upstreams. It has the default provider, but only the decoders for
/// public keys of server certificates.
package enum LeanLibrary {
  // For the key of each certificate, OpenSSL 3.0 builds a list of all decoders, also for private keys and for key types
  // that TLS does not know. This takes a sixth of a full handshake. In the separate context the list is short, and
  // untrusted certificates reach less code.

  /// An OSSL_LIB_CTX, never freed. `nil` if it cannot be created: OpenSSL then uses its default context.
  package nonisolated(unsafe) static let context: OpaquePointer? = {  // OSSL_LIB_CTX
    // `nonisolated(unsafe)` is safe here, because OpenSSL locks the state of a context.
    OpenSSLLibrary.start()
    defer { ERR_clear_error() }
    guard defaultProvider != nil, decoders != nil, let context = OSSL_LIB_CTX_new() else { return nil }
    guard OSSL_PROVIDER_add_builtin(context, "lean", initializeProvider) == 1,
      OSSL_PROVIDER_load(context, "lean") != nil
    else {
      OSSL_LIB_CTX_free(context)
      return nil
    }
    return context
  }()

  // `nonisolated(unsafe)` is safe for both, because OpenSSL counts references to a provider, and the table is only read.
  nonisolated(unsafe) fileprivate static let defaultProvider: OpaquePointer? = OSSL_PROVIDER_load(nil, "default")

  /// The decoders to keep, ended by an empty entry; `nil` if they are not found.
  nonisolated(unsafe) fileprivate static let decoders: UnsafePointer<OSSL_ALGORITHM>? = {
    var noCache: Int32 = 0
    guard var next = OSSL_PROVIDER_query_operation(defaultProvider, OSSL_OP_DECODER, &noCache) else { return nil }
    var kept: [OSSL_ALGORITHM] = []
    while next.pointee.algorithm_names != nil {
      if isNeeded(next.pointee) { kept.append(next.pointee) }
      next += 1
    }
    guard !kept.isEmpty else { return nil }
    let list = UnsafeMutablePointer<OSSL_ALGORITHM>.allocate(capacity: kept.count + 1)
    for (index, decoder) in kept.enumerated() { list[index] = decoder }
    list[kept.count] = OSSL_ALGORITHM()
    return UnsafePointer(list)
  }()

  /// Types of public keys that TLS uses (RFC 8446 section 4.2.3).
  private static let keyTypes = ["RSA", "RSA-PSS", "EC", "ED25519", "ED448", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]

  private static func isNeeded(_ decoder: OSSL_ALGORITHM) -> Bool {
    guard let names = decoder.algorithm_names, let properties = decoder.property_definition else { return false }
    // The first name; aliases follow after colons.
    let name = String(cString: names).prefix { $0 != ":" }
    let traits = String(cString: properties).split(separator: ",")
    return keyTypes.contains(String(name)) && traits.contains("input=der")
      && traits.contains("structure=SubjectPublicKeyInfo")
  }

  /// The functions of the provider `lean`, ended by an empty entry (provider(7)).
  nonisolated(unsafe) fileprivate static let functions: UnsafePointer<OSSL_DISPATCH> = {
    // No teardown function, because OpenSSL owns `defaultProvider`.
    let list = UnsafeMutablePointer<OSSL_DISPATCH>.allocate(capacity: 3)
    let queryFunction = unsafeBitCast(query, to: Function.self)
    let capabilitiesFunction = unsafeBitCast(capabilities, to: Function.self)
    list[0] = OSSL_DISPATCH(function_id: OSSL_FUNC_PROVIDER_QUERY_OPERATION, function: queryFunction)
    list[1] = OSSL_DISPATCH(function_id: OSSL_FUNC_PROVIDER_GET_CAPABILITIES, function: capabilitiesFunction)
    list[2] = OSSL_DISPATCH()
    return UnsafePointer(list)
  }()
}

private typealias Function = @convention(c) () -> Void

/// Initializes the provider `lean` (OSSL_provider_init_fn).
private func initializeProvider(
  _: OpaquePointer?, _: UnsafePointer<OSSL_DISPATCH>?, functions: UnsafeMutablePointer<UnsafePointer<OSSL_DISPATCH>?>?,
  context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> Int32 {
  functions?.pointee = LeanLibrary.functions
  context?.pointee = OSSL_PROVIDER_get0_provider_ctx(LeanLibrary.defaultProvider)
  return 1
}

/// Returns the default provider's algorithms for an operation (OSSL_FUNC_provider_query_operation_fn).
private let query:
  @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafeMutablePointer<Int32>?) -> UnsafePointer<OSSL_ALGORITHM>? = {
    _, operation, noCache in
    let all = OSSL_PROVIDER_query_operation(LeanLibrary.defaultProvider, operation, noCache)
    return operation == OSSL_OP_DECODER ? LeanLibrary.decoders : all
  }

/// Reports the default provider's capabilities, such as the TLS groups (OSSL_FUNC_provider_get_capabilities_fn).
private let capabilities:
  @convention(c) (
    UnsafeMutableRawPointer?, UnsafePointer<CChar>?,
    (@convention(c) (UnsafePointer<OSSL_PARAM>?, UnsafeMutableRawPointer?) -> Int32)?, UnsafeMutableRawPointer?
  ) -> Int32 = { _, capability, callback, argument in
    OSSL_PROVIDER_get_capabilities(LeanLibrary.defaultProvider, capability, callback, argument)
  }
