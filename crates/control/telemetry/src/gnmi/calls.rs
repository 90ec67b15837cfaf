//! The gRPC service.

use std::pin::Pin;

use hopwright_p4runtime::Failure;
use hopwright_protobuf::gnmi::g_nmi_server::GNmi;
use hopwright_protobuf::gnmi::{
    CapabilityRequest, CapabilityResponse, Encoding, GetRequest, GetResponse, ModelData, SetRequest, SetResponse,
    SubscribeRequest, SubscribeResponse,
};
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

use super::service::{Service, no_extensions};
use super::tree::MODELS;
use super::{set, subscribe};

/// The version of the protocol.
const VERSION: &str = "0.10.0";
/// Whose models they are.
const ORGANIZATION: &str = "OpenConfig working group";

#[tonic::async_trait]
impl GNmi for Service {
    type SubscribeStream = Pin<Box<dyn Stream<Item = Result<SubscribeResponse, Status>> + Send>>;

    async fn capabilities(&self, request: Request<CapabilityRequest>) -> Result<Response<CapabilityResponse>, Status> {
        self.check(request.extensions(), false)?;
        no_extensions(&request.get_ref().extension)?;
        let model = |(name, version): &(&str, &str)| ModelData {
            name: (*name).into(),
            organization: ORGANIZATION.into(),
            version: (*version).into(),
        };
        Ok(Response::new(CapabilityResponse {
            supported_models: MODELS.iter().map(model).collect(),
            supported_encodings: vec![Encoding::Json.into(), Encoding::JsonIetf.into(), Encoding::Proto.into()],
            g_nmi_version: VERSION.into(),
            extension: Vec::new(),
        }))
    }

    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        self.check(request.extensions(), false)?;
        Ok(Response::new(self.answer(request.get_ref()).await?))
    }

    async fn set(&self, request: Request<SetRequest>) -> Result<Response<SetResponse>, Status> {
        self.check(request.extensions(), true)?;
        set::apply(self, request.into_inner()).await.map(Response::new)
    }

    async fn subscribe(
        &self,
        request: Request<Streaming<SubscribeRequest>>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        self.check(request.extensions(), false)?;
        let place = self.devices.stream(request.extensions()).map_err(Failure::status)?;
        Ok(Response::new(Box::pin(subscribe::answer(self.clone(), request, place))))
    }
}
