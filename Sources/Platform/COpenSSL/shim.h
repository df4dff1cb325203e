#pragma once
#include <openssl/opensslv.h>
#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error "bearerd needs OpenSSL 3.0 or later (Debian: libssl-dev)"
#endif
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_dispatch.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
// malloc_usable_size
#include <malloc.h>

// One-line wrappers for macros and variadic functions, which Swift cannot call. Nothing else belongs here.

static inline int bearerd_SSL_CTX_set_min_proto_version(SSL_CTX *ctx, int version) { return (int)SSL_CTX_set_min_proto_version(ctx, version); }
static inline int bearerd_SSL_CTX_set_max_proto_version(SSL_CTX *ctx, int version) { return (int)SSL_CTX_set_max_proto_version(ctx, version); }
static inline long bearerd_SSL_CTX_set_mode(SSL_CTX *ctx, long mode) { return SSL_CTX_set_mode(ctx, mode); }
static inline long bearerd_SSL_CTX_set_session_cache_mode(SSL_CTX *ctx, long mode) { return SSL_CTX_set_session_cache_mode(ctx, mode); }
static inline int bearerd_SSL_CTX_add1_chain_cert(SSL_CTX *ctx, X509 *certificate) { return (int)SSL_CTX_add1_chain_cert(ctx, certificate); }
static inline int bearerd_SSL_add1_chain_cert(SSL *ssl, X509 *certificate) { return (int)SSL_add1_chain_cert(ssl, certificate); }
static inline int bearerd_SSL_CTX_set_ticket_keys(SSL_CTX *ctx, void *keys, long length) { return (int)SSL_CTX_set_tlsext_ticket_keys(ctx, keys, length); }
static inline int bearerd_SSL_set_server_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }
static inline long bearerd_SSL_CTX_set_status_callback(SSL_CTX *ctx, int (*callback)(SSL *, void *), void *argument) { return SSL_CTX_set_tlsext_status_cb(ctx, callback) && SSL_CTX_set_tlsext_status_arg(ctx, argument); }
static inline uint64_t bearerd_SSL_OP_NO_RENEGOTIATION(void) { return SSL_OP_NO_RENEGOTIATION; }
static inline uint64_t bearerd_SSL_OP_NO_COMPRESSION(void) { return SSL_OP_NO_COMPRESSION; }
static inline uint64_t bearerd_SSL_OP_CLEANSE_PLAINTEXT(void) { return SSL_OP_CLEANSE_PLAINTEXT; }
static inline uint64_t bearerd_SSL_OP_NO_TICKET(void) { return SSL_OP_NO_TICKET; }

static inline long bearerd_BIO_get_mem_data(BIO *bio, char **data) { return BIO_get_mem_data(bio, data); }
static inline void bearerd_BIO_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void bearerd_BIO_clear_retry_flags(BIO *bio) { BIO_clear_retry_flags(bio); }

static inline int bearerd_sk_X509_num(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *bearerd_sk_X509_value(const STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }
static inline STACK_OF(X509) *bearerd_sk_X509_new(void) { return sk_X509_new_null(); }
static inline int bearerd_sk_X509_push(STACK_OF(X509) *stack, X509 *certificate) { return sk_X509_push(stack, certificate); }
static inline void bearerd_sk_X509_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }
static inline void bearerd_sk_X509_pop_free(STACK_OF(X509) *stack) { sk_X509_pop_free(stack, X509_free); }
static inline int bearerd_sk_ASN1_INTEGER_num(const STACK_OF(ASN1_INTEGER) *stack) { return sk_ASN1_INTEGER_num(stack); }
static inline ASN1_INTEGER *bearerd_sk_ASN1_INTEGER_value(const STACK_OF(ASN1_INTEGER) *stack, int index) { return sk_ASN1_INTEGER_value(stack, index); }
static inline int bearerd_sk_GENERAL_SUBTREE_num(const STACK_OF(GENERAL_SUBTREE) *stack) { return sk_GENERAL_SUBTREE_num(stack); }
static inline GENERAL_SUBTREE *bearerd_sk_GENERAL_SUBTREE_value(const STACK_OF(GENERAL_SUBTREE) *stack, int index) { return sk_GENERAL_SUBTREE_value(stack, index); }
static inline unsigned long bearerd_XN_FLAG_RFC2253(void) { return XN_FLAG_RFC2253; }
static inline void bearerd_OPENSSL_free(void *pointer) { OPENSSL_free(pointer); }

static inline EVP_PKEY *bearerd_generate_ec_key(const char *curve) { return EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve); }
static inline EVP_PKEY *bearerd_generate_rsa_key(size_t bits) { return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits); }
static inline EVP_PKEY *bearerd_generate_key(const char *type) { return EVP_PKEY_Q_keygen(NULL, NULL, type); }
