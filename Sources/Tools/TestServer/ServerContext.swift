internal import COpenSSL
internal import Crypto

// `@unchecked`: the SSL_CTX never changes after `init`, and many threads may use it.
/// The OpenSSL context of a TLS server: certificates, protocol versions and session tickets.
final class ServerContext: @unchecked Sendable {
  let pointer: OpaquePointer  // SSL_CTX
  private let staple: StapledResponse?
  private let selection: ProtocolSelection?

  init(chain: [Certificate], options: UpstreamServer.Options, ticketKeys: [UInt8]) throws {
    OpenSSLLibrary.start()
    guard let context = SSL_CTX_new(TLS_server_method()) else { throw TestServerError.openSSL("SSL_CTX_new") }
    staple = options.staple.map(StapledResponse.init)
    staple?.install(in: context)
    selection = ProtocolSelection(options)
    selection?.install(in: context)
    do {
      try Self.configure(context, chain: chain, options: options, ticketKeys: ticketKeys)
    } catch {
      SSL_CTX_free(context)
      throw error
    }
    pointer = context
  }

  deinit { SSL_CTX_free(pointer) }

  /// Size of the ticket keys, in bytes.
  static let ticketKeyCount = 80

  private static func configure(
    _ context: OpaquePointer, chain: [Certificate], options: UpstreamServer.Options, ticketKeys: [UInt8]
  ) throws {
    // Tests offer weak keys and old versions, and the client must refuse them
    SSL_CTX_set_security_level(context, 0)
    if let ciphers = options.ciphers { SSL_CTX_set_cipher_list(context, ciphers) }
    bearerd_SSL_CTX_set_mode(context, Int(SSL_MODE_NO_AUTO_CHAIN | SSL_MODE_AUTO_RETRY))
    bearerd_SSL_CTX_set_min_proto_version(context, options.tlsVersion ?? TLS1_2_VERSION)
    bearerd_SSL_CTX_set_max_proto_version(context, options.tlsVersion ?? TLS1_3_VERSION)

    guard let leaf = chain.first else { throw TestServerError("a TLS server needs a certificate") }
    guard
      SSL_CTX_use_certificate(context, leaf.certificate) == 1,
      SSL_CTX_use_PrivateKey(context, leaf.key) == 1
    else { throw TestServerError.openSSL("loading the certificate") }
    for certificate in chain.dropFirst() {
      guard bearerd_SSL_CTX_add1_chain_cert(context, certificate.certificate) == 1 else {
        throw TestServerError.openSSL("loading the chain")
      }
    }

    if !options.clientAuthorities.isEmpty {
      let required = options.requiresClientCertificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER | required, nil)
      for authority in options.clientAuthorities {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.certificate)
      }
    }
    if options.allowResumption {
      var keys = ticketKeys
      let name = Array("demo".utf8)
      guard
        SSL_CTX_set_session_id_context(context, name, UInt32(name.count)) == 1,
        bearerd_SSL_CTX_set_ticket_keys(context, &keys, keys.count) == 1
      else { throw TestServerError.openSSL("ticket keys") }
      Tickets.tagTickets(of: context)
    } else {
      SSL_CTX_set_options(context, bearerd_SSL_OP_NO_TICKET())
      SSL_CTX_set_num_tickets(context, 0)
      bearerd_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
    }
  }
}
