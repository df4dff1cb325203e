"""An authorization server built on Authlib, and an API that checks tokens in the same store.

One Flask application each, over TLS. Everything that the rows of authorization-server.py assert is in `Store`: the requests that
each client sent to the server, and the tokens that the client got.
"""
import base64
import json
import ssl
import threading
import time
import warnings
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlparse

from authlib.common.security import generate_token
from authlib.integrations.flask_oauth1 import AuthorizationServer as OAuth1Server
from authlib.integrations.flask_oauth1 import ResourceProtector as OAuth1Protector
from authlib.integrations.flask_oauth1 import current_credential
from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector, current_token
from authlib.oauth1.rfc5849 import TemporaryCredential
from authlib.oauth1.rfc5849.signature import generate_signature_base_string
from authlib.oauth1.rfc5849.util import escape
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import BaseGrant, InvalidClientError, InvalidGrantError, InvalidRequestError, TokenEndpointMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenValidator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion, JWTBearerGrant
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from authlib.oauth2.rfc9207 import IssuerParameter
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from flask import Flask, Response, jsonify, request
from joserfc import jwk, jwt
from joserfc.errors import JoseError
from werkzeug.serving import WSGIRequestHandler, make_server

# RFC 9864 has another name for EdDSA, which servers do not know yet.
warnings.filterwarnings("ignore", "EdDSA is deprecated")

USER, PASSWORD = "alice", "correct horse & battery=staple+%"
METHODS = ["client_secret_basic", "client_secret_post", "private_key_jwt", "basic_raw", "none"]
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
# The grant of an extension that no RFC defines.
TICKET = "https://ticket.example/grant"
# Seconds.
LIFETIME = 4


@dataclass
class Client:
    """A registered client, for OAuth 2 and for OAuth 1.0a."""

    client_id: str
    secret: str = ""
    method: str = "client_secret_basic"
    public_key: str = ""
    redirect_uri: str = "http://127.0.0.1/callback"
    # Whether token responses say when the token expires.
    hides_expiry: bool = False

    def get_client_id(self):
        return self.client_id

    def get_allowed_scope(self, scope):
        return scope or ""

    def check_redirect_uri(self, uri):
        """The port of a loopback address is free (RFC 8252, section 7.3)."""
        ours, theirs = urlparse(self.redirect_uri), urlparse(uri)
        return (ours.scheme, ours.hostname, ours.path) == (theirs.scheme, theirs.hostname, theirs.path)

    def check_client_secret(self, secret):
        return bool(self.secret) and secret == self.secret

    def check_endpoint_auth_method(self, method, _endpoint):
        return method == self.method

    def check_response_type(self, kind):
        return kind == "code"

    def check_grant_type(self, _grant):
        return True

    def get_default_redirect_uri(self):
        return self.redirect_uri

    def get_client_secret(self):
        return self.secret

    def get_rsa_public_key(self):
        return self.public_key


@dataclass
class Token:
    client_id: str
    subject: str
    access: str
    refresh: str | None
    scope: str
    expires_at: float
    access_revoked: bool = False
    refresh_revoked: bool = False

    def check_client(self, client):
        return self.client_id == client.client_id

    def get_scope(self):
        return self.scope

    def is_expired(self):
        return time.time() >= self.expires_at

    def is_revoked(self):
        return self.access_revoked

    def get_oauth_token(self):
        return self.access

    def get_oauth_token_secret(self):
        return self.refresh

    def get_client_id(self):
        return self.client_id


@dataclass
class Exchange:
    client: str
    endpoint: str
    # "token", "ok", or the error code that the server sent.
    outcome: str
    # The request and the response, to read when a row fails.
    text: str


@dataclass
class Store:
    """What the server knows. Threads only append, or replace whole values."""

    clients: dict = field(default_factory=dict)
    tokens: list = field(default_factory=list)
    codes: dict = field(default_factory=dict)
    devices: dict = field(default_factory=dict)
    approved: dict = field(default_factory=dict)
    temporary: dict = field(default_factory=dict)
    seen: set = field(default_factory=set)
    exchanges: list = field(default_factory=list)

    def exchanges_of(self, client):
        return [exchange for exchange in list(self.exchanges) if exchange.client == client]

    def outcomes(self, client, endpoint="token"):
        return [exchange.outcome for exchange in self.exchanges_of(client) if exchange.endpoint == endpoint]

    def tokens_of(self, client):
        return [token for token in list(self.tokens) if token.client_id == client]

    def record(self, client, endpoint, outcome, response):
        shown = [f"{name}: {value}" for name, value in request.headers if name in ("Authorization", "Content-Type", "Accept")]
        self.exchanges.append(Exchange(client, endpoint, outcome, "\n".join(
            [f"{request.method} {request.full_path.removesuffix('?')}", *shown, request.get_data(as_text=True) or urlencode(request.form),
             f"-> {response.status_code} {response.get_data(as_text=True)}"])))
        return response

    def first_use(self, value):
        """Whether a `jti` or a nonce has not been used before."""
        new, _ = value not in self.seen, self.seen.add(value)
        return new

    def save(self, client, subject, access, refresh, scope, lifetime=LIFETIME):
        self.tokens.append(Token(client, subject, access, refresh, scope or "", time.time() + lifetime))
        return self.tokens[-1]


def authorization_server(store, origin):
    """Returns the Flask application. `origin` is a function, because the port is known only later."""
    app = Flask("authorization server")
    app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True

    def save_token(token, asked):
        if asked.client.hides_expiry:
            token.pop("expires_in", None)
        store.save(asked.client.client_id, asked.user or asked.client.client_id, token["access_token"],
                   token.get("refresh_token"), token.get("scope"))

    app.config["OAUTH2_TOKEN_EXPIRES_IN"] = {grant: LIFETIME for grant in (
        "authorization_code", "client_credentials", "password", "refresh_token", DeviceCodeGrant.GRANT_TYPE,
        JWTBearerGrant.GRANT_TYPE, TOKEN_EXCHANGE, TICKET)}
    server = AuthorizationServer(app, store.clients.get, save_token)

    class ClientAssertion(JWTBearerClientAssertion):
        CLIENT_AUTH_METHOD = "private_key_jwt"

        def get_audiences(self):
            return [f"{origin()}/token", origin()]

        def validate_jti(self, claims, jti):
            return store.first_use((claims["sub"], jti))

        def resolve_client_public_key(self, client):
            return key_of(client)

        def process_assertion_claims(self, assertion, key):
            """Accepts every algorithm of bearerd. By default, Authlib accepts only RS256 and ES256."""
            try:
                token = jwt.decode(assertion, key, algorithms=["RS256", "ES256", "ES384", "ES512", "EdDSA"])
            except JoseError as error:
                raise InvalidClientError(description=str(error)) from error
            self.verify_claims(token.claims)
            return token.claims

    def basic_raw(query, asked):
        """Basic without the form encoding of RFC 6749, section 2.3.1, as many servers read it."""
        scheme, _, value = asked.headers.get("Authorization", "").partition(" ")
        if scheme != "Basic":
            return None
        name, _, secret = base64.b64decode(value).decode().partition(":")
        client = query(name)
        return client if client and client.check_client_secret(secret) else None

    server.register_client_auth_method("private_key_jwt", ClientAssertion())
    server.register_client_auth_method("basic_raw", basic_raw)

    class Code(grants.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def save_authorization_code(self, code, asked):
            store.codes[code] = StoredCode(asked)

        def query_authorization_code(self, code, client):
            stored = store.codes.get(code)
            return stored if stored and stored.client_id == client.client_id else None

        def delete_authorization_code(self, code):
            store.codes = {key: value for key, value in store.codes.items() if value is not code}

        def authenticate_user(self, code):
            return code.user

    class Password(grants.ResourceOwnerPasswordCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def authenticate_user(self, name, password):
            return USER if (name, password) == (USER, PASSWORD) else None

    class ClientCredentials(grants.ClientCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    class Refresh(grants.RefreshTokenGrant):
        """With rotation: a refresh token works once. A second use revokes everything that this client has."""

        TOKEN_ENDPOINT_AUTH_METHODS = METHODS
        INCLUDE_NEW_REFRESH_TOKEN = True

        def authenticate_refresh_token(self, value):
            for token in store.tokens:
                if token.refresh == value:
                    if not token.refresh_revoked:
                        return token
                    for other in store.tokens_of(token.client_id):
                        other.access_revoked = other.refresh_revoked = True
            return None

        def authenticate_user(self, token):
            return token.subject

        def revoke_old_credential(self, token):
            token.refresh_revoked = True

    class Device(DeviceCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def query_device_credential(self, code):
            return store.devices.get(code)

        def query_user_grant(self, code):
            return store.approved.get(code)

        def should_slow_down(self, _credential):
            return False

    class Assertion(JWTBearerGrant):
        def resolve_issuer_client(self, issuer):
            return store.clients.get(issuer)

        def resolve_client_public_key(self, client):
            return key_of(client)

        def authenticate_user(self, subject):
            return USER if subject == USER else None

        def has_granted_permission(self, _client, _user):
            return True

        def get_audiences(self):
            return [f"{origin()}/token"]

    class Extension(BaseGrant, TokenEndpointMixin):
        """An extension grant that makes tokens for the user that `user` returns."""

        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def user(self):
            raise NotImplementedError

        def validate_token_request(self):
            self.request.client = self.authenticate_token_endpoint_client()
            self.request.user = self.user()

        def create_token_response(self):
            token = self.generate_token(user=self.request.user, scope=self.request.payload.scope, include_refresh_token=False)
            self.save_token(token)
            return 200, token | {"issued_token_type": ACCESS_TOKEN}, self.TOKEN_RESPONSE_HEADER

    class Exchange(Extension):
        """RFC 8693, which Authlib does not have."""

        GRANT_TYPE = TOKEN_EXCHANGE

        def user(self):
            form = self.request.form
            if form.get("subject_token_type") != ACCESS_TOKEN:
                raise InvalidRequestError("subject_token_type")
            for token in store.tokens:
                if token.access == form.get("subject_token") and not token.is_expired() and not token.access_revoked:
                    return token.subject
            raise InvalidRequestError("subject_token")

    class Ticket(Extension):
        GRANT_TYPE = TICKET

        def user(self):
            if self.request.form.get("ticket") != "ticket of alice":
                raise InvalidGrantError("ticket")
            return USER

    for grant in (Password, ClientCredentials, Refresh, Device, Assertion, Exchange, Ticket):
        server.register_grant(grant)
    server.register_grant(Code, [CodeChallenge(required=True)])

    class Issuer(IssuerParameter):
        def get_issuer(self):
            return origin()

    server.register_extension(Issuer())

    class Devices(DeviceAuthorizationEndpoint):
        CLIENT_AUTH_METHODS = METHODS
        INTERVAL = 1

        def get_verification_uri(self):
            return f"{origin()}/device"

        def save_device_credential(self, client, scope, data):
            store.devices[data["device_code"]] = DeviceCredentialDict(
                client_id=client, scope=scope, user_code=data["user_code"], expires_at=time.time() + data["expires_in"])

    class Revocation(RevocationEndpoint):
        CLIENT_AUTH_METHODS = METHODS

        def query_token(self, value, _hint):
            return next((token for token in store.tokens if value in (token.access, token.refresh)), None)

        def revoke_token(self, token, asked):
            token.access_revoked = True
            token.refresh_revoked |= asked.form["token"] == token.refresh

    class Registration(ClientRegistrationEndpoint):
        def authenticate_token(self, _asked):
            return True

        def get_server_metadata(self):
            return metadata(origin())

        def save_client(self, info, wanted, _asked):
            method = wanted.get("token_endpoint_auth_method", "client_secret_basic")
            client = Client(info["client_id"], info["client_secret"], method, redirect_uri=wanted.get("redirect_uris", [""])[0])
            store.clients[client.client_id] = client
            return client

    for endpoint in (Devices, Revocation, Registration):
        server.register_endpoint(endpoint)

    def recorded(endpoint, response, client=None):
        """Notes who asked for what, and how it ended."""
        try:
            body = json.loads(response.get_data() or b"{}")
        except ValueError:
            body = {}
        outcome = body.get("error") or (
            "token" if "access_token" in body else "ok" if response.status_code < 300 else str(response.status_code))
        return store.record(client or client_of(request), endpoint, outcome, response)

    @app.post("/token")
    def token():
        return recorded("token", server.create_token_response())

    @app.post("/tenant/token")
    def with_query():
        if request.args.to_dict() != {"tenant": "a b&c"}:
            return recorded("token", Response('{"error": "invalid_request"}', 400))
        return token()

    @app.post("/json/token")
    def with_json():
        """Authlib reads forms only: the members of the JSON body become a form."""
        if not request.is_json:
            return recorded("token", Response('{"error": "invalid_request"}', 400))
        form = urlencode(request.get_json()).encode()
        with app.test_request_context("/token", method="POST", data=form, base_url=origin(), headers=[
                (name, value) for name, value in request.headers if name == "Authorization"],
                content_type="application/x-www-form-urlencoded"):
            return token()

    @app.post("/form/token")
    def as_form():
        response = token()
        response.set_data(urlencode(response.get_json(force=True)))
        response.content_type = "application/x-www-form-urlencoded"
        return response

    @app.post("/nested/token")
    def nested():
        response = token()
        response.set_data(json.dumps({"ok": response.status_code == 200, "data": response.get_json(force=True)}))
        return response

    @app.post("/app/installations/1/access_tokens")
    def installation():
        """As GitHub does it: a JWT that the app has signed, for a token with a date."""
        client = store.clients["github-app"]
        signed = jwt.decode(request.headers["Authorization"].removeprefix("Bearer "), key_of(client),
                            algorithms=["RS256"])
        jwt.JWTClaimsRegistry(iss={"essential": True, "value": client.client_id}, exp={"essential": True}).validate(signed.claims)
        made = store.save(client.client_id, "installation 1", generate_token(40), None, "")
        date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(made.expires_at))
        response = jsonify(token=made.access, expires_at=date)
        response.status_code = 201
        return store.record(client.client_id, "token", "token", response)

    @app.post("/device_authorization")
    def device_authorization():
        return recorded("device", server.create_endpoint_response("device_authorization"))

    @app.post("/revoke")
    def revoke():
        return recorded("revoke", server.create_endpoint_response("revocation"))

    @app.post("/register")
    def register():
        return recorded("register", server.create_endpoint_response("client_registration"), "anyone")

    @app.get("/.well-known/oauth-authorization-server")
    def discovery():
        return recorded("metadata", jsonify(metadata(origin())), "anyone")

    @app.route("/authorize", methods=["GET", "POST"])
    def authorize():
        try:
            grant = server.get_consent_grant(end_user=USER)
        except OAuth2Error as error:
            return server.handle_error_response(request, error)
        if request.method == "GET":
            return "<form method=post><input name=user><input name=password type=password></form>"
        allowed = (request.form["user"], request.form["password"]) == (USER, PASSWORD)
        return server.create_authorization_response(request, USER if allowed else None, grant)

    @app.post("/device")
    def device():
        store.approved[request.form["user_code"]] = (USER, request.form["user"] == USER)
        return "thank you"

    oauth1(app, store)
    return app


class StoredCode:
    def __init__(self, asked):
        payload = asked.payload
        self.client_id, self.user, self.scope = asked.client.client_id, asked.user, asked.scope
        self.redirect_uri = payload.redirect_uri
        self.code_challenge = payload.data.get("code_challenge")
        self.code_challenge_method = payload.data.get("code_challenge_method")

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope


def key_of(client):
    """The client's public key, as Authlib takes it."""
    key = load_pem_public_key(client.public_key.encode())
    kind = "RSA" if isinstance(key, rsa.RSAPublicKey) else "EC" if isinstance(key, ec.EllipticCurvePublicKey) else "OKP"
    return jwk.import_key(client.public_key, kind)


def client_of(asked):
    """The client that a request names, in whichever way."""
    if asked.authorization and asked.authorization.type == "basic":
        return dict(parse_qsl(f"id={asked.authorization.username}"))["id"]
    for name in ("client_assertion", "assertion"):
        if name in asked.form:
            claims = asked.form[name].split(".")[1]
            return json.loads(base64.urlsafe_b64decode(claims + "==="))["iss"]
    return asked.form.get("client_id", "nobody")


def metadata(origin):
    document = AuthorizationServerMetadata(
        issuer=origin, token_endpoint=f"{origin}/token", authorization_endpoint=f"{origin}/authorize",
        revocation_endpoint=f"{origin}/revoke", registration_endpoint=f"{origin}/register",
        device_authorization_endpoint=f"{origin}/device_authorization", response_types_supported=["code"],
        grant_types_supported=["authorization_code", "refresh_token", "client_credentials", DeviceCodeGrant.GRANT_TYPE],
        token_endpoint_auth_methods_supported=["client_secret_basic", "client_secret_post", "private_key_jwt", "none"],
        token_endpoint_auth_signing_alg_values_supported=["ES256", "RS256"],
        code_challenge_methods_supported=["S256"], authorization_response_iss_parameter_supported=True)
    document.validate()
    return document


def verify_hmac_sha256(asked):
    """Authlib has only HMAC-SHA1. The base string is the same."""
    key = f"{escape(asked.client_secret or '')}&{escape(asked.token_secret or '')}"
    mac = hmac.HMAC(key.encode(), hashes.SHA256())
    mac.update(generate_signature_base_string(asked).encode())
    return base64.b64encode(mac.finalize()).decode() == asked.signature


SIGNATURES = ["HMAC-SHA1", "HMAC-SHA256", "RSA-SHA1"]


def first_nonce(store):
    return lambda nonce, timestamp, client, token: not store.first_use((nonce, timestamp, client, token))


def oauth1(app, store):
    """The three endpoints of RFC 5849."""
    app.config["OAUTH1_SUPPORTED_SIGNATURE_METHODS"] = SIGNATURES
    server = OAuth1Server(app, query_client=store.clients.get)
    server.register_signature_method("HMAC-SHA256", verify_hmac_sha256)

    def begin(token, client, callback):
        store.temporary[token["oauth_token"]] = TemporaryCredential(token, client_id=client, oauth_callback=callback)
        return store.temporary[token["oauth_token"]]

    def verifier(credential, user, value):
        credential.update(user_id=user, oauth_verifier=value)
        return value

    def finish(token, temporary):
        return store.save(temporary["client_id"], temporary["user_id"], token["oauth_token"], token["oauth_token_secret"], "",
                          lifetime=3600)

    server.register_hook("exists_nonce", first_nonce(store))
    server.register_hook("create_temporary_credential", begin)
    server.register_hook("get_temporary_credential", lambda token: store.temporary.get(token))
    server.register_hook("delete_temporary_credential", lambda token: store.temporary.pop(token, None))
    server.register_hook("create_authorization_verifier", verifier)
    server.register_hook("create_token_credential", finish)

    def recorded(endpoint, response):
        body = dict(parse_qsl(response.get_data(as_text=True)))
        client = dict(parse_qsl(request.headers.get("Authorization", "").replace('", ', "&").replace('"', "")))
        who = next((value for name, value in client.items() if name.endswith("oauth_consumer_key")), "nobody")
        return store.record(who.strip(","), endpoint, body.get("error") or ("token" if endpoint == "token" else "ok"), response)

    @app.post("/oauth1/initiate")
    def initiate():
        return recorded("initiate", server.create_temporary_credentials_response())

    @app.route("/oauth1/authorize", methods=["GET", "POST"])
    def authorize1():
        if request.method == "GET":
            server.check_authorization_request()
            return "<form method=post><input name=user><input name=password type=password></form>"
        return server.create_authorization_response(grant_user=request.form["user"])

    @app.post("/oauth1/token")
    def token1():
        return recorded("token", server.create_token_response())


def api(store):
    """An API that says whose token the request carried."""
    app = Flask("api")
    protected = ResourceProtector()

    class Validator(BearerTokenValidator):
        def authenticate_token(self, value):
            return next((token for token in store.tokens if token.access == value), None)

    protected.register_token_validator(Validator())
    app.config["OAUTH1_SUPPORTED_SIGNATURE_METHODS"] = SIGNATURES
    OAuth1Protector.register_signature_method("HMAC-SHA256", verify_hmac_sha256)
    signed = OAuth1Protector(
        app, query_client=store.clients.get, exists_nonce=first_nonce(store),
        query_token=lambda client, value: next((token for token in store.tokens if (token.client_id, token.access) ==
                                                (client, value)), None))

    @app.get("/whoami")
    @protected()
    def whoami():
        return {"client": current_token.client_id, "subject": current_token.subject, "scope": current_token.scope}

    @app.get("/signed/whoami")
    @signed()
    def signed_whoami():
        return {"client": current_credential.client_id, "subject": current_credential.subject, "scope": ""}

    return app


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        pass


def serve(app, certificates):
    """Serves an application over TLS on a free port of localhost. Returns the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "leaf.pem", certificates / "leaf.key")
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet, ssl_context=context)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port
